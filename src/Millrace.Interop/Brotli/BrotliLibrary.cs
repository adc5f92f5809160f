using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Brotli;

/// <summary>
/// libbrotli, the system's brotli (RFC 7932), for coding with a dictionary, which .NET's own brotli does not do. Loaded at run time,
/// because not every system has a version that does, and never unloaded. Any thread, concurrently. <see cref="BrotliDictionaryEncoder"/>
/// and <see cref="BrotliDictionaryDecoder"/> are made from it.
/// </summary>
internal sealed class BrotliLibrary
{
    /// <summary>The first is what the others depend on: the loader takes the one of its name that the process has.</summary>
    internal static readonly string[] Names = ["libbrotlicommon.so.1", "libbrotlidec.so.1", "libbrotlienc.so.1"];

    /// <summary>1.1.0 is the first release with dictionaries in its stable interface.</summary>
    private const uint VersionMin = (1 << 24) | (1 << 12);

    /// <summary>A library can be built without them; the last is of the first library, which may be older than the others.</summary>
    private static readonly string[] Required =
    [
        "BrotliEncoderPrepareDictionary", "BrotliEncoderAttachPreparedDictionary", "BrotliEncoderDestroyPreparedDictionary",
        "BrotliDecoderAttachDictionary", "BrotliSharedDictionaryCreateInstance",
    ];

    private static readonly Lazy<(BrotliLibrary? Library, string? Problem)> Loaded = new(static () =>
        TryLoad(Names, out BrotliLibrary? library, out string? problem) ? (library, null) : (null, problem));

    private BrotliLibrary(nint[] handles, Version version)
    {
        Version = version;
        Compression = new BrotliCompressionCalls(handles[2]);
        Decompression = new BrotliDecompressionCalls(handles[1]);
    }

    /// <summary>That of the encoder.</summary>
    public Version Version { get; }

    /// <summary>Why this system has no usable library, as the end of a sentence; null if it has one.</summary>
    public static string? Problem => Loaded.Value.Problem;

    internal BrotliCompressionCalls Compression { get; }

    internal BrotliDecompressionCalls Decompression { get; }

    /// <summary>The system's library, loaded by the first call. False if there is none: see <see cref="Problem"/>.</summary>
    public static bool TryLoad([NotNullWhen(true)] out BrotliLibrary? library)
    {
        library = Loaded.Value.Library;
        return library is not null;
    }

    /// <param name="names">The names or paths of the three libraries, in the order of <see cref="Names"/>.</param>
    /// <param name="library">The library.</param>
    /// <param name="problem">Why it is not usable.</param>
    internal static bool TryLoad(
        IReadOnlyList<string> names, [NotNullWhen(true)] out BrotliLibrary? library, [NotNullWhen(false)] out string? problem)
    {
        library = null;
        nint[] handles = new nint[Names.Length];
        problem = null;
        for (int i = 0; i < handles.Length && problem is null; i++)
        {
            problem = NativeLibrary.TryLoad(names[i], out handles[i]) ? null : $"{names[i]} is not installed";
        }

        Version? version = problem is null ? VersionOf(handles[2]) : null;
        problem ??= version is null ? $"{names[2]} is not libbrotli"
            : Packed(version) < VersionMin ? $"{names[2]} is version {version}, and dictionaries need 1.1.0"
            : Required.FirstOrDefault(name => !handles.Any(handle => NativeLibrary.TryGetExport(handle, name, out _))) is { } missing
                ? $"{names[2]} {version} has no {missing}"
            : null;
        if (problem is null)
        {
            library = new BrotliLibrary(handles, version!);
            return true;
        }

        foreach (nint handle in handles.Where(static handle => handle != 0))
        {
            NativeLibrary.Free(handle);
        }

        return false;
    }

    private static unsafe Version? VersionOf(nint encoder)
    {
        if (!NativeLibrary.TryGetExport(encoder, "BrotliEncoderVersion", out nint address))
        {
            return null;
        }

        uint packed = ((delegate* unmanaged<uint>)address)();
        return new Version((int)(packed >> 24), (int)((packed >> 12) & 0xfff), (int)(packed & 0xfff));
    }

    private static uint Packed(Version version) => ((uint)version.Major << 24) | ((uint)version.Minor << 12) | (uint)version.Build;
}
