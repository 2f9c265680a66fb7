//! stub
use crate::*;
pub(crate) fn locate(_: &Module, _: &Variable, _: &FrameContext<'_>) -> Result<Location, Error> { todo!() }
pub(crate) fn locate_member(_: &Module, _: DieRef, _: LoadAddr, _: &FrameContext<'_>) -> Result<LoadAddr, Error> { todo!() }
