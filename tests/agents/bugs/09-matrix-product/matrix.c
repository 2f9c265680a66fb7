// Products of small matrices.
#include <stdio.h>
#include <stdlib.h>

struct matrix {
    size_t rows, columns;
    double *cells;
};

static struct matrix matrix_new(size_t rows, size_t columns) {
    struct matrix matrix = {rows, columns, calloc(rows * columns, sizeof(double))};
    return matrix;
}

static double *cell(const struct matrix *matrix, size_t row, size_t column) {
    return &matrix->cells[row * matrix->rows + column];
}

static struct matrix product(const struct matrix *a, const struct matrix *b) {
    struct matrix result = matrix_new(a->rows, b->columns);
    for (size_t row = 0; row < a->rows; row++) {
        for (size_t column = 0; column < b->columns; column++) {
            double sum = 0;
            for (size_t k = 0; k < a->columns; k++) {
                sum += *cell(a, row, k) * *cell(b, k, column);
            }
            *cell(&result, row, column) = sum;
        }
    }
    return result;
}

static struct matrix counted(size_t rows, size_t columns) {
    struct matrix matrix = matrix_new(rows, columns);
    for (size_t i = 0; i < rows * columns; i++) {
        matrix.cells[i] = (double)(i + 1);
    }
    return matrix;
}

int main(void) {
    struct matrix a = counted(2, 3), b = counted(3, 2);
    struct matrix c = product(&a, &b);
    for (size_t row = 0; row < c.rows; row++) {
        for (size_t column = 0; column < c.columns; column++) {
            printf("%g ", *cell(&c, row, column));
        }
        puts("");
    }
    free(a.cells);
    free(b.cells);
    free(c.cells);
    return 0;
}
