using Millrace.Interop.Seccomp;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// The program by which the kernel chooses the socket, and so the reactor, of a QUIC datagram: the first byte of its destination id, modulo
/// the number of reactors. Our ids begin with a byte whose remainder is their reactor; a client's first id is random, and all Initial
/// packets of a connection have the same. Classic BPF on a group of sockets needs no right. Pure, except <see cref="TryAttach"/>.
/// </summary>
internal static class DatagramSteering
{
    /// <summary>In packets with a long header (RFC 8999, section 5.1): after the version and the id's length.</summary>
    private const int LongIdOffset = 6;

    /// <summary>In packets with a short one (section 5.2).</summary>
    private const int ShortIdOffset = 1;

    private const uint LongHeader = 0x80;

    /// <summary>Applies it to the group of a socket: all that are bound to its address. False if the kernel refuses.</summary>
    public static bool TryAttach(int socket, int reactors) => SocketCalls.AttachSelector(socket, Build(reactors)) >= 0;

    /// <summary>The index of the reactor whose socket gets a datagram.</summary>
    public static int IndexOf(ReadOnlySpan<byte> datagram, int reactors)
    {
        int offset = datagram.Length > 0 && (datagram[0] & LongHeader) != 0 ? LongIdOffset : ShortIdOffset;
        return datagram.Length > offset ? datagram[offset] % reactors : 0;
    }

    /// <summary>A load beyond the datagram's end ends the program with 0: the first reactor drops what is no packet.</summary>
    public static FilterInstruction[] Build(int reactors) =>
    [
        new(FilterCode.LoadByte, 0, 0, 0),
        new(FilterCode.IfHas, 0, 2, LongHeader),
        new(FilterCode.LoadByte, 0, 0, LongIdOffset),
        new(FilterCode.Skip, 0, 0, 1),
        new(FilterCode.LoadByte, 0, 0, ShortIdOffset),
        new(FilterCode.Modulo, 0, 0, (uint)reactors),
        new(FilterCode.ReturnResult, 0, 0, 0),
    ];
}
