using System.Runtime.InteropServices;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>Where a copy lies between its guards.</summary>
internal enum Placement
{
    /// <summary>The byte after it faults.</summary>
    AtEnd,

    /// <summary>The byte in front of it faults.</summary>
    AtStart,
}

/// <summary>
/// Pages between two that nobody may touch: whoever reads or writes a byte too far ends the process, which no test framework overlooks.
/// They stay until the process ends: a span over pages that were given back would fault where nothing is wrong.
/// </summary>
internal sealed unsafe partial class GuardedMemory
{
    private const int ReadWrite = 1 | 2;
    private const int PrivateAnonymous = 0x2 | 0x20;

    private readonly nint _mapping;
    private readonly int _pageBytes = Environment.SystemPageSize;
    private readonly int _roomBytes;

    public GuardedMemory(int bytesMax)
    {
        _roomBytes = (bytesMax + _pageBytes) / _pageBytes * _pageBytes;
        _mapping = Mmap(0, (nuint)(_roomBytes + (2 * _pageBytes)), 0, PrivateAnonymous, -1, 0);
        if (_mapping == -1 || Mprotect(_mapping + _pageBytes, (nuint)_roomBytes, ReadWrite) != 0)
        {
            throw new InvalidOperationException(Marshal.GetLastPInvokeErrorMessage());
        }
    }

    private Span<byte> Room => new((void*)(_mapping + _pageBytes), _roomBytes);

    /// <summary>Room for as many bytes, whatever was there.</summary>
    public Span<byte> Take(int bytes, Placement placement = Placement.AtEnd) =>
        placement == Placement.AtEnd ? Room[^bytes..] : Room[..bytes];

    public ReadOnlySpan<byte> Copy(ReadOnlySpan<byte> bytes, Placement placement = Placement.AtEnd)
    {
        Span<byte> copy = Take(bytes.Length, placement);
        bytes.CopyTo(copy);
        return copy;
    }

    [LibraryImport("libc", EntryPoint = "mmap", SetLastError = true)]
    private static partial nint Mmap(nint address, nuint bytes, int protection, int flags, int fd, long offset);

    [LibraryImport("libc", EntryPoint = "mprotect", SetLastError = true)]
    private static partial int Mprotect(nint address, nuint bytes, int protection);
}
