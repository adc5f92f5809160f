using System.Runtime.CompilerServices;
using Millrace.Engine.Backends;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// Reads a buffer that a backend has received a message into: <see cref="DatagramBuffer"/> is its layout. Pure; the buffer is the
/// caller's.
/// </summary>
internal unsafe struct ReceivedDatagrams
{
    private const int ControlAlignment = 8;

    private readonly byte* _payload;

    /// <param name="buffer">The buffer.</param>
    /// <param name="bytes">How many of its bytes are valid.</param>
    /// <param name="localPort">The port that the socket is bound to.</param>
    public ReceivedDatagrams(byte* buffer, int bytes, ushort localPort)
    {
        var header = (ReceivedMessage*)buffer;
        _payload = buffer + DatagramBuffer.PayloadOffset;
        PayloadBytes = Math.Max(0, bytes - DatagramBuffer.PayloadOffset);
        SegmentBytes = PayloadBytes;
        IsTruncated = (header->Flags & (MessageFlags.Truncated | MessageFlags.ControlTruncated)) != 0
            || header->PayloadBytes > (uint)PayloadBytes;
        int nameBytes = (int)Math.Min(header->NameBytes, DatagramBuffer.NameBytes);
        From = DatagramAddress.Read(new ReadOnlySpan<byte>(buffer + DatagramBuffer.NameOffset, nameBytes));
        ReadControl(buffer + DatagramBuffer.ControlOffset, (int)Math.Min(header->ControlBytes, DatagramBuffer.ControlBytes), localPort);
    }

    public readonly int PayloadBytes { get; }

    public readonly Span<byte> Bytes => new(_payload, PayloadBytes);

    /// <summary>Whether something did not fit, so that nothing of it can be relied on.</summary>
    public readonly bool IsTruncated { get; }

    public readonly DatagramAddress From { get; }

    /// <summary>The size of each datagram but the last.</summary>
    public int SegmentBytes { readonly get; private set; }

    /// <summary>The default if the kernel did not say.</summary>
    public DatagramAddress To { readonly get; private set; }

    public DatagramEcn Ecn { readonly get; private set; }

    /// <summary>Datagrams that the socket has dropped since it was opened, modulo 2^32; null if the kernel did not say.</summary>
    public uint? Drops { readonly get; private set; }

    public readonly int Count => SegmentBytes == 0 ? 1 : (PayloadBytes + SegmentBytes - 1) / SegmentBytes;

    private void ReadControl(byte* control, int bytes, ushort localPort)
    {
        for (int at = 0; at + sizeof(ControlHeader) <= bytes;)
        {
            ControlHeader header = Unsafe.ReadUnaligned<ControlHeader>(control + at);
            if (header.Bytes < (nuint)sizeof(ControlHeader) || header.Bytes > (nuint)(bytes - at))
            {
                return;
            }

            ReadControl(header, control + at + sizeof(ControlHeader), (int)header.Bytes - sizeof(ControlHeader), localPort);
            at += ((int)header.Bytes + ControlAlignment - 1) & -ControlAlignment;
        }
    }

    private void ReadControl(in ControlHeader header, byte* data, int bytes, ushort localPort)
    {
        switch (header.Level, header.Type)
        {
            case (SocketOptionNumber.LevelUdp, SocketOptionNumber.UdpCoalescing) when bytes >= sizeof(int):
                int segment = Unsafe.ReadUnaligned<int>(data);
                SegmentBytes = segment > 0 ? Math.Min(segment, PayloadBytes) : PayloadBytes;
                break;
            case (SocketOptionNumber.LevelIP, SocketOptionNumber.TypeOfService) when bytes >= 1:
            case (SocketOptionNumber.LevelIPv6, SocketOptionNumber.TrafficClass) when bytes >= 1:
                // The first byte of IPv6's number has all of it on little-endian machines, the only ones here.
                Ecn = (DatagramEcn)(*data & 3);
                break;
            case (SocketOptionNumber.LevelIP, SocketOptionNumber.PacketInfo) when bytes >= sizeof(PacketInfoIPv4):
                var four = Unsafe.ReadUnaligned<PacketInfoIPv4>(data);
                To = DatagramAddress.OfIPv4(DatagramAddress.Swap(four.Local), localPort);
                break;
            case (SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6PacketInfo) when bytes >= sizeof(PacketInfoIPv6):
                var six = Unsafe.ReadUnaligned<PacketInfoIPv6>(data);
                To = DatagramAddress.OfIPv6(DatagramAddress.Swap(six.High), DatagramAddress.Swap(six.Low), localPort, six.Interface);
                break;
            case (SocketOptionNumber.LevelSocket, SocketOptionNumber.ReceiveDrops) when bytes >= sizeof(uint):
                Drops = Unsafe.ReadUnaligned<uint>(data);
                break;
            default:
                // Not asked for.
                break;
        }
    }
}
