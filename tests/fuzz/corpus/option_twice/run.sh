singularity exec --nv --nv x.sif python cuda.py
