using System.Runtime.InteropServices;

namespace Millrace.Interop.Brotli;

/// <summary>The functions of libbrotlienc. Results are truth values, or addresses that are 0 if memory is short.</summary>
internal sealed unsafe class BrotliCompressionCalls(nint library)
{
    /// <summary><c>BrotliEncoderParameter</c></summary>
    public const int Quality = 1;
    public const int WindowBits = 2;
    public const int SizeHint = 5;

    /// <summary><c>BrotliEncoderOperation</c></summary>
    public const int Process = 0;
    public const int Finish = 2;

    /// <summary><c>BROTLI_SHARED_DICTIONARY_RAW</c></summary>
    public const int RawDictionary = 0;

    public readonly delegate* unmanaged<nint, nint, nint, nint> Create =
        (delegate* unmanaged<nint, nint, nint, nint>)Export(library, "BrotliEncoderCreateInstance");
    public readonly delegate* unmanaged<nint, void> Destroy =
        (delegate* unmanaged<nint, void>)Export(library, "BrotliEncoderDestroyInstance");
    public readonly delegate* unmanaged<nint, int, uint, int> SetParameter =
        (delegate* unmanaged<nint, int, uint, int>)Export(library, "BrotliEncoderSetParameter");
    public readonly delegate* unmanaged<int, nuint, byte*, int, nint, nint, nint, nint> PrepareDictionary =
        (delegate* unmanaged<int, nuint, byte*, int, nint, nint, nint, nint>)Export(library, "BrotliEncoderPrepareDictionary");
    public readonly delegate* unmanaged<nint, void> DestroyDictionary =
        (delegate* unmanaged<nint, void>)Export(library, "BrotliEncoderDestroyPreparedDictionary");
    public readonly delegate* unmanaged<nint, nint, int> AttachDictionary =
        (delegate* unmanaged<nint, nint, int>)Export(library, "BrotliEncoderAttachPreparedDictionary");
    public readonly delegate* unmanaged<nint, int, nuint*, byte**, nuint*, byte**, nuint*, int> Compress =
        (delegate* unmanaged<nint, int, nuint*, byte**, nuint*, byte**, nuint*, int>)Export(library, "BrotliEncoderCompressStream");
    public readonly delegate* unmanaged<nint, int> IsFinished =
        (delegate* unmanaged<nint, int>)Export(library, "BrotliEncoderIsFinished");

    internal static nint Export(nint library, string name) => NativeLibrary.GetExport(library, name);
}

/// <summary>The functions of libbrotlidec.</summary>
internal sealed unsafe class BrotliDecompressionCalls(nint library)
{
    /// <summary><c>BrotliDecoderResult</c></summary>
    public const int Success = 1;
    public const int NeedsMoreInput = 2;
    public const int NeedsMoreOutput = 3;

    /// <summary>The first and the last of <c>BROTLI_DECODER_ERROR_ALLOC_*</c>.</summary>
    public const int FirstOfMemory = -21;
    public const int LastOfMemory = -30;

    public readonly delegate* unmanaged<nint, nint, nint, nint> Create =
        (delegate* unmanaged<nint, nint, nint, nint>)BrotliCompressionCalls.Export(library, "BrotliDecoderCreateInstance");
    public readonly delegate* unmanaged<nint, void> Destroy =
        (delegate* unmanaged<nint, void>)BrotliCompressionCalls.Export(library, "BrotliDecoderDestroyInstance");
    public readonly delegate* unmanaged<nint, int, nuint, byte*, int> AttachDictionary =
        (delegate* unmanaged<nint, int, nuint, byte*, int>)BrotliCompressionCalls.Export(library, "BrotliDecoderAttachDictionary");
    public readonly delegate* unmanaged<nint, nuint*, byte**, nuint*, byte**, nuint*, int> Decompress =
        (delegate* unmanaged<nint, nuint*, byte**, nuint*, byte**, nuint*, int>)BrotliCompressionCalls.Export(
            library, "BrotliDecoderDecompressStream");
    public readonly delegate* unmanaged<nint, int> ErrorCode =
        (delegate* unmanaged<nint, int>)BrotliCompressionCalls.Export(library, "BrotliDecoderGetErrorCode");
}
