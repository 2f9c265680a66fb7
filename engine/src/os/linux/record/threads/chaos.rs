//! Short random slices: turns that a program rarely takes show its races. All is drawn from a seed, and slices are
//! counted in system calls and instructions, so that the same seed has the same turns. This decides; the recorder
//! acts.

/// The most system calls of a slice.
const MOST_CALLS: u32 = 16;
/// The most instructions of a slice that ends between two calls: each is a stop of about 5 µs.
const MOST_INSTRUCTIONS: u32 = 2048;

/// How long the running thread runs while another one could.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slice {
    /// To the end of its so many next system calls.
    Calls(u32),
    /// So many instructions.
    Instructions(u32),
}

/// The slices, and which thread is next.
pub struct Chaos {
    random: Random,
    slice: Slice,
}

impl Chaos {
    /// The slices of a seed.
    pub fn new(seed: u64) -> Chaos {
        let mut chaos = Chaos {
            random: Random(seed),
            slice: Slice::Calls(1),
        };
        chaos.begin();
        chaos
    }

    /// A thread begins to run. A quarter of the slices ends at a system call: until then the program runs as fast as
    /// otherwise. Of the others, half end soon, where the thread has just begun to use what others use, too.
    pub fn begin(&mut self) {
        self.slice = match self.random.below(8) {
            0 | 1 => Slice::Calls(self.random.up_to(MOST_CALLS)),
            2..5 => Slice::Instructions(self.random.up_to(MOST_INSTRUCTIONS)),
            _ => Slice::Instructions(1 + self.random.below(MOST_INSTRUCTIONS)),
        };
    }

    /// The running thread is at the end of a system call. Returns whether its slice is over.
    pub fn ends_at_call(&mut self) -> bool {
        match &mut self.slice {
            Slice::Calls(left) => {
                *left = left.saturating_sub(1);
                *left == 0
            }
            Slice::Instructions(left) => *left == 0,
        }
    }

    /// Returns how many instructions are left to a thread whose slice does not end at a call.
    pub fn instructions(&self) -> u32 {
        match self.slice {
            Slice::Calls(_) => 0,
            Slice::Instructions(left) => left,
        }
    }

    /// The running thread has executed an instruction.
    pub fn executed(&mut self) {
        if let Slice::Instructions(left) = &mut self.slice {
            *left = left.saturating_sub(1);
        }
    }

    /// Returns which of so many threads runs next.
    pub fn choose(&mut self, count: usize) -> usize {
        let most = u32::try_from(count).unwrap_or(u32::MAX);
        self.random.below(most.max(1)) as usize
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): the numbers of a seed are the same in each version.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one, which is not 0.
    fn below(&mut self, most: u32) -> u32 {
        (((self.next() >> 32) * u64::from(most)) >> 32) as u32
    }

    /// A number of 1 to `most`: each magnitude is as likely as the others.
    fn up_to(&mut self, most: u32) -> u32 {
        let bits = self.below(most.ilog2() + 1);
        let low = 1 << bits;
        (low + self.below(low)).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_generator() {
        // The first numbers of the seed 1234567, as the authors' program has them.
        let mut random = Random(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_seed_has_its_slices_and_another_one_others() {
        let slices = |seed| {
            let mut chaos = Chaos::new(seed);
            let mut all = Vec::new();
            for _ in 0..50 {
                chaos.begin();
                all.push((chaos.slice, chaos.choose(3)));
            }
            all
        };
        assert_eq!(slices(7), slices(7));
        assert_ne!(slices(7), slices(8));
    }

    #[test]
    fn slices_are_of_all_lengths_within_bounds() {
        let mut chaos = Chaos::new(1);
        let (mut calls, mut instructions) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            chaos.begin();
            match chaos.slice {
                Slice::Calls(count) => calls.push(count),
                Slice::Instructions(count) => instructions.push(count),
            }
        }
        let (few, most) = (calls.iter().min(), calls.iter().max());
        assert_eq!((few, most), (Some(&1), Some(&MOST_CALLS)));
        assert_eq!(instructions.iter().min(), Some(&1));
        assert!(instructions.iter().all(|it| *it <= MOST_INSTRUCTIONS));
        assert!(instructions.iter().any(|it| *it > MOST_INSTRUCTIONS / 2));
    }

    #[test]
    fn a_slice_ends_after_its_calls_or_instructions() {
        let mut chaos = Chaos::new(1);
        chaos.slice = Slice::Calls(2);
        assert_eq!(chaos.instructions(), 0);
        assert!(!chaos.ends_at_call());
        assert!(chaos.ends_at_call());
        chaos.slice = Slice::Instructions(2);
        chaos.executed();
        assert!(!chaos.ends_at_call());
        chaos.executed();
        assert_eq!(chaos.instructions(), 0);
        assert!(chaos.ends_at_call());
    }
}
