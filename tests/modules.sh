# How the tests of one module are chosen in the program that has all black-box tests. Sourced.

# left_out LIST MODULE: prints the names that a list of left-out tests has of a module; `MODULE` if it is all.
left_out() {
    sed -n -e "s/^\($2\): .*/\1/p" -e "s/^\($2::[a-z0-9_:]*\): .*/\1/p" "$1"
}

# tests_of EXECUTABLE LIST MODULE: prints the names of the tests of a module, but for those of a list. A filter by
# name would find the modules, too, whose names end in this one's.
tests_of() {
    "$1" --list 2>/dev/null | sed -n "s/^\($3::.*\): test$/\1/p" |
        grep -vxF -f <(left_out "$2" "$3"; echo " ") || true
}
