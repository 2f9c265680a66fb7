// A library that the program of walk.c loads.
int late(int number) {
    int tenth = number / 10;
    return tenth; // tenth
}
