#define Y(//
)=__ballot()