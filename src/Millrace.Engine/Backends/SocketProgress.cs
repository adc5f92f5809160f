using System.Buffers.Binary;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// Measures how much a peer has read. A send with MSG_WAITALL completes only when all is queued, so progress between completions is read
/// from the socket: acknowledged bytes for TCP (SIOCOUTQ alone does not change while a full queue is refilled as fast as it drains), the
/// queue's length for unix sockets.
/// </summary>
internal static class SocketProgress
{
    /// <summary>Offset of <c>tcpi_bytes_acked</c> in <c>struct tcp_info</c> (linux/tcp.h), present since Linux 4.1.</summary>
    private const int BytesAckedOffset = 120;

    /// <summary>TCP_CLOSE (linux/tcp_states.h), as <c>tcpi_state</c>, the first byte of <c>struct tcp_info</c>.</summary>
    private const byte Closed = 7;

    /// <summary>Whether the connection is closed: reset, or given up by the kernel, even if no receive or send would show it.</summary>
    public static bool IsOver(int socket)
    {
        Span<byte> state = stackalloc byte[1];
        return SocketCalls.GetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.TcpInfo, state) == 1 && state[0] == Closed;
    }

    public static long Measure(int socket)
    {
        Span<byte> info = stackalloc byte[BytesAckedOffset + sizeof(ulong)];
        int bytes = SocketCalls.GetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.TcpInfo, info);
        return bytes == info.Length
            ? BinaryPrimitives.ReadInt64LittleEndian(info[BytesAckedOffset..])
            : -SocketCalls.UnacknowledgedBytes(socket);
    }
}
