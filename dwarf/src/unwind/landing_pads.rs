//! Landing pads of exceptions: the call-site table of a function's language-specific data area
//! (Itanium C++ ABI, "Exception Handling Tables"; rustc uses the same format).

use crate::file::R;
use crate::ids::addr::FileAddr;
use crate::ids::error::Error;
use crate::module::Module;
use gimli::constants as dw;
use gimli::{DwEhPe, LittleEndian, Reader};

impl Module {
    /// Returns the landing pads of the function whose unwind table entry covers `addr`; empty if
    /// exceptions only pass through it.
    ///
    /// # Errors
    /// The table cannot be read, so that the pads are unknown.
    pub fn landing_pads(&self, addr: FileAddr) -> Result<Vec<FileAddr>, Error> {
        let Some((start, table)) = self.exception_table(addr.0)? else {
            return Ok(Vec::new());
        };
        let data = self.image.bytes_at(table).unwrap_or(&[]);
        let mut reader = R::new(data, LittleEndian);
        let base = match DwEhPe(reader.read_u8()?) {
            dw::DW_EH_PE_omit => start,
            encoding => value(&mut reader, encoding)?,
        };
        if DwEhPe(reader.read_u8()?) != dw::DW_EH_PE_omit {
            // Offset of the type table, which is not needed here.
            reader.read_uleb128()?;
        }
        let encoding = DwEhPe(reader.read_u8()?);
        let length = usize::try_from(reader.read_uleb128()?).unwrap_or(usize::MAX);
        let mut sites = reader.split(length)?;
        let mut pads = Vec::new();
        while !sites.is_empty() {
            let [_start, _length, pad] = [
                value(&mut sites, encoding)?,
                value(&mut sites, encoding)?,
                value(&mut sites, encoding)?,
            ];
            sites.read_uleb128()?;
            if pad != 0 {
                pads.push(FileAddr(base.wrapping_add(pad)));
            }
        }
        Ok(pads)
    }
}

/// Reads a number of the table. Numbers of call sites are always offsets, whatever base the
/// encoding names.
fn value(reader: &mut R, encoding: DwEhPe) -> Result<u64, Error> {
    Ok(match encoding.format() {
        dw::DW_EH_PE_uleb128 => reader.read_uleb128()?,
        dw::DW_EH_PE_sleb128 => reader.read_sleb128()? as u64,
        dw::DW_EH_PE_udata2 => reader.read_u16()?.into(),
        dw::DW_EH_PE_udata4 => reader.read_u32()?.into(),
        dw::DW_EH_PE_sdata4 => i64::from(reader.read_i32()?) as u64,
        dw::DW_EH_PE_udata8 | dw::DW_EH_PE_absptr => reader.read_u64()?,
        _ => return Err(gimli::Error::UnknownPointerEncoding(encoding).into()),
    })
}
