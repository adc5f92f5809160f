using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Native memory for the bodies of one snapshot: taken in chunks, handed out by a moving pointer, freed all at once. Native, so
/// that the kernel can read it while the collector runs and 256 MiB of it are never marked or moved. Filled by one thread.
/// </summary>
internal sealed unsafe class NativeArena : IDisposable
{
    /// <summary>A cache line: no two bodies share one, and copies start aligned.</summary>
    public const int Alignment = 64;

    /// <summary>Untouched pages of a chunk cost no memory; a chunk of many pages costs few calls.</summary>
    private const nuint ChunkBytes = 4 * 1024 * 1024;

    private readonly List<nint> _chunks = [];
    private byte* _next;
    private byte* _end;

    /// <summary>What a body of this size takes here.</summary>
    public static long RoundUp(long bytes) => (bytes + Alignment - 1) & ~(Alignment - 1L);

    /// <summary>
    /// Memory to write a body to. It is the body's only after <see cref="Commit"/>; until then the next one gets the same.
    /// </summary>
    public byte* Reserve(long bodyBytes)
    {
        nuint bytes = (nuint)RoundUp(bodyBytes);
        if ((nuint)(_end - _next) < bytes)
        {
            nuint chunkBytes = nuint.Max(bytes, ChunkBytes);
            _next = (byte*)NativeMemory.AlignedAlloc(chunkBytes, Alignment);
            _end = _next + chunkBytes;
            _chunks.Add((nint)_next);
        }

        return _next;
    }

    public void Commit(long bodyBytes)
    {
        Debug.Assert(_end - _next >= RoundUp(bodyBytes), "commit follows its reserve");
        _next += RoundUp(bodyBytes);
    }

    public void Dispose()
    {
        foreach (nint chunk in _chunks)
        {
            NativeMemory.AlignedFree((void*)chunk);
        }

        _chunks.Clear();
        _next = _end = null;
    }
}
