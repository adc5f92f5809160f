using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Quic.Packets;

/// <summary>
/// A connection id of 0 to 20 bytes (RFC 9000, section 5.1). A value: no memory is shared. Its hash has a key of the process, as clients
/// choose ids too.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct ConnectionId : IEquatable<ConnectionId>
{
    public const int MaximumLength = 20;

    /// <summary>A client's first destination id has at least this length (section 7.2).</summary>
    public const int MinimumInitialLength = 8;

    // The bytes, in memory order; those beyond the length are 0.
    private readonly ulong _first;
    private readonly ulong _second;
    private readonly uint _third;
    private readonly byte _length;

    /// <summary>Copies an id, which has at most <see cref="MaximumLength"/> bytes.</summary>
    public ConnectionId(ReadOnlySpan<byte> bytes)
    {
        Debug.Assert(bytes.Length <= MaximumLength);
        _length = (byte)bytes.Length;
        bytes.CopyTo(MemoryMarshal.CreateSpan(ref Unsafe.As<ulong, byte>(ref _first), MaximumLength));
    }

    public int Length => _length;

    /// <summary>The bytes, as long as the variable that holds this value lives.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> AsSpan => MemoryMarshal.CreateReadOnlySpan(ref Unsafe.As<ulong, byte>(ref Unsafe.AsRef(in _first)), _length);

    public static bool operator ==(ConnectionId left, ConnectionId right) => left.Equals(right);

    public static bool operator !=(ConnectionId left, ConnectionId right) => !left.Equals(right);

    public bool Equals(ConnectionId other)
        => _first == other._first && _second == other._second && _third == other._third && _length == other._length;

    public override bool Equals(object? obj) => obj is ConnectionId other && Equals(other);

    public override int GetHashCode() => HashCode.Combine(_first, _second, _third, _length);

    public override string ToString() => Convert.ToHexStringLower(AsSpan);
}
