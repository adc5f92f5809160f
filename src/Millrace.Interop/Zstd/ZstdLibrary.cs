using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using System.Text;

namespace Millrace.Interop.Zstd;

/// <summary>
/// libzstd, the system's Zstandard (RFC 8878). Loaded at run time, because not every system has it, and never unloaded. Any thread,
/// concurrently. <see cref="ZstdEncoder"/> and <see cref="ZstdDecoder"/> are made from it.
/// </summary>
internal sealed unsafe class ZstdLibrary
{
    internal static readonly string[] Names = ["libzstd.so.1"];

    /// <summary>1.4.0 is the first whose streams with parameters and prefixes are part of its stable interface.</summary>
    private const uint VersionMin = 10400;

    /// <summary><c>ZSTD_error_memory_allocation</c></summary>
    private const int MemoryAllocation = 64;

    private static readonly Lazy<(ZstdLibrary? Library, string? Problem)> Loaded = new(static () =>
        TryLoad(Names, out ZstdLibrary? library, out string? problem) ? (library, null) : (null, problem));

    private readonly nint _handle;
    private readonly delegate* unmanaged<nuint, uint> _isError;
    private readonly delegate* unmanaged<nuint, int> _getErrorCode;
    private readonly delegate* unmanaged<nuint, byte*> _getErrorName;

    private ZstdLibrary(nint handle, uint version)
    {
        _handle = handle;
        Version = version;
        _isError = (delegate* unmanaged<nuint, uint>)Export("ZSTD_isError");
        _getErrorCode = (delegate* unmanaged<nuint, int>)Export("ZSTD_getErrorCode");
        _getErrorName = (delegate* unmanaged<nuint, byte*>)Export("ZSTD_getErrorName");
        Compression = new ZstdCompressionCalls(this);
        Decompression = new ZstdDecompressionCalls(this);
    }

    /// <summary>10504 for 1.5.4.</summary>
    public uint Version { get; }

    /// <summary>Why this system has no usable library, as the end of a sentence; null if it has one.</summary>
    public static string? Problem => Loaded.Value.Problem;

    internal ZstdCompressionCalls Compression { get; }

    internal ZstdDecompressionCalls Decompression { get; }

    /// <summary>The system's library, loaded by the first call. False if there is none: see <see cref="Problem"/>.</summary>
    public static bool TryLoad([NotNullWhen(true)] out ZstdLibrary? library)
    {
        library = Loaded.Value.Library;
        return library is not null;
    }

    internal static bool TryLoad(
        IReadOnlyList<string> names, [NotNullWhen(true)] out ZstdLibrary? library, [NotNullWhen(false)] out string? problem)
    {
        library = null;
        problem = $"{names[0]} is not installed";
        foreach (string name in names)
        {
            if (!NativeLibrary.TryLoad(name, out nint handle))
            {
                continue;
            }

            if (NativeLibrary.TryGetExport(handle, "ZSTD_versionNumber", out nint versionNumber)
                && ((delegate* unmanaged<uint>)versionNumber)() is var version && version >= VersionMin)
            {
                library = new ZstdLibrary(handle, version);
                problem = null;
                return true;
            }

            NativeLibrary.Free(handle);
            problem = $"{name} is older than 1.4.0";
        }

        return false;
    }

    /// <summary>A function of the library's stable interface.</summary>
    internal nint Export(string name) => NativeLibrary.GetExport(_handle, name);

    internal bool TryExport(string name, out nint address) => NativeLibrary.TryGetExport(_handle, name, out address);

    internal bool IsError(nuint result) => _isError(result) != 0;

    internal bool IsOutOfMemory(nuint result) => _getErrorCode(result) == MemoryAllocation;

    /// <summary>Returns a result, or throws for an error that only a fault of the caller, or too little memory, can explain.</summary>
    internal nuint Check(nuint result)
    {
        if (!IsError(result))
        {
            return result;
        }

        string name = Encoding.UTF8.GetString(MemoryMarshal.CreateReadOnlySpanFromNullTerminated(_getErrorName(result)));
        throw IsOutOfMemory(result)
            ? new InsufficientMemoryException($"libzstd: {name}")
            : new InvalidOperationException($"libzstd: {name}");
    }
}

/// <summary><c>ZSTD_inBuffer</c> and <c>ZSTD_outBuffer</c>, which have one layout.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct ZstdBuffer
{
    public byte* Address;
    public nuint Bytes;
    public nuint Position;
}
