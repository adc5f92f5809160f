namespace Millrace.Interop.Zstd;

/// <summary>The functions of libzstd that compress. Results are sizes, or errors by <see cref="ZstdLibrary.IsError"/>.</summary>
internal sealed unsafe class ZstdCompressionCalls(ZstdLibrary library)
{
    /// <summary><c>ZSTD_cParameter</c></summary>
    public const int Level = 100;
    public const int WindowLog = 101;
    public const int LongDistanceMatching = 160;
    public const int ContentSizeFlag = 200;

    /// <summary><c>ZSTD_EndDirective</c></summary>
    public const int Continue = 0;
    public const int End = 2;

    /// <summary><c>ZSTD_ResetDirective</c></summary>
    public const int ResetSessionOnly = 1;

    public readonly delegate* unmanaged<nint> Create = (delegate* unmanaged<nint>)library.Export("ZSTD_createCCtx");
    public readonly delegate* unmanaged<nint, nuint> Free = (delegate* unmanaged<nint, nuint>)library.Export("ZSTD_freeCCtx");
    public readonly delegate* unmanaged<nint, int, nuint> Reset =
        (delegate* unmanaged<nint, int, nuint>)library.Export("ZSTD_CCtx_reset");
    public readonly delegate* unmanaged<nint, int, int, nuint> SetParameter =
        (delegate* unmanaged<nint, int, int, nuint>)library.Export("ZSTD_CCtx_setParameter");
    public readonly delegate* unmanaged<nint, ulong, nuint> SetPledgedSize =
        (delegate* unmanaged<nint, ulong, nuint>)library.Export("ZSTD_CCtx_setPledgedSrcSize");
    public readonly delegate* unmanaged<nint, byte*, nuint, nuint> RefPrefix =
        (delegate* unmanaged<nint, byte*, nuint, nuint>)library.Export("ZSTD_CCtx_refPrefix");
    public readonly delegate* unmanaged<nint, ZstdBuffer*, ZstdBuffer*, int, nuint> Compress =
        (delegate* unmanaged<nint, ZstdBuffer*, ZstdBuffer*, int, nuint>)library.Export("ZSTD_compressStream2");
    public readonly delegate* unmanaged<nuint, nuint> Bound = (delegate* unmanaged<nuint, nuint>)library.Export("ZSTD_compressBound");
}

/// <summary>The functions of libzstd that decompress. Results are sizes, or errors by <see cref="ZstdLibrary.IsError"/>.</summary>
internal sealed unsafe class ZstdDecompressionCalls(ZstdLibrary library)
{
    /// <summary><c>ZSTD_dParameter</c></summary>
    public const int WindowLogMax = 100;

    public readonly delegate* unmanaged<nint> Create = (delegate* unmanaged<nint>)library.Export("ZSTD_createDCtx");
    public readonly delegate* unmanaged<nint, nuint> Free = (delegate* unmanaged<nint, nuint>)library.Export("ZSTD_freeDCtx");
    public readonly delegate* unmanaged<nint, int, int, nuint> SetParameter =
        (delegate* unmanaged<nint, int, int, nuint>)library.Export("ZSTD_DCtx_setParameter");
    public readonly delegate* unmanaged<nint, byte*, nuint, nuint> RefPrefix =
        (delegate* unmanaged<nint, byte*, nuint, nuint>)library.Export("ZSTD_DCtx_refPrefix");
    public readonly delegate* unmanaged<nint, ZstdBuffer*, ZstdBuffer*, nuint> Decompress =
        (delegate* unmanaged<nint, ZstdBuffer*, ZstdBuffer*, nuint>)library.Export("ZSTD_decompressStream");
}
