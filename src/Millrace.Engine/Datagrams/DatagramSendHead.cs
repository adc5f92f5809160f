using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// What the kernel reads of one send, in front of its payload: it points into itself, so it must not move. The owner of the memory is
/// <see cref="DatagramSendMemory"/>.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct DatagramSendHead
{
    private const int AddressBytes = 32;

    /// <summary>UDP_SEGMENT and the traffic class take 24 bytes each, the source address 40.</summary>
    private const int ControlBytes = 96;

    private MessageHeader _message;
    private IoVector _vector;
    private fixed byte _address[AddressBytes];
    private fixed byte _control[ControlBytes];

    public static byte* PayloadOf(DatagramSendHead* head) => (byte*)(head + 1);

    public static MessageHeader* MessageOf(DatagramSendHead* head) => &head->_message;

    /// <summary>Writes everything but the payload; false if a socket of this family cannot send there.</summary>
    /// <param name="head">Where; the payload follows.</param>
    /// <param name="bytes">Of the payload.</param>
    /// <param name="segmentBytes">The size of each datagram but the last; not less than <paramref name="bytes"/> for one datagram.</param>
    /// <param name="to">The destination.</param>
    /// <param name="from">The source address; any for the one that the kernel chooses.</param>
    /// <param name="ecn">Of all datagrams.</param>
    /// <param name="isIPv6">The socket's family.</param>
    public static bool TryWrite(
        DatagramSendHead* head, int bytes, int segmentBytes, in DatagramAddress to, in DatagramAddress from, DatagramEcn ecn, bool isIPv6)
    {
        *head = default;
        int addressBytes = to.Write(new Span<byte>(head->_address, AddressBytes), isIPv6);
        if (addressBytes == 0)
        {
            return false;
        }

        head->_message.Name = head->_address;
        head->_message.NameBytes = (uint)addressBytes;
        head->_message.Vectors = &head->_vector;
        head->_message.VectorCount = 1;
        SetPart(head, 0, bytes);

        int at = 0;
        if (segmentBytes < bytes)
        {
            Add(head, ref at, SocketOptionNumber.LevelUdp, SocketOptionNumber.UdpSegment, (ushort)segmentBytes);
        }

        if (ecn != DatagramEcn.NotEct)
        {
            // A datagram to an IPv4 address has IPv4's, also from a socket of IPv6.
            (int level, int type) = to.IsIPv4
                ? (SocketOptionNumber.LevelIP, SocketOptionNumber.TypeOfService)
                : (SocketOptionNumber.LevelIPv6, SocketOptionNumber.TrafficClass);
            Add(head, ref at, level, type, (int)ecn);
        }

        if (!from.IsAny)
        {
            AddSource(head, ref at, from, isIPv6);
        }

        if (at > 0)
        {
            head->_message.Control = head->_control;
            head->_message.ControlBytes = (nuint)at;
        }

        return true;
    }

    /// <summary>Sends only a part of the payload.</summary>
    public static void SetPart(DatagramSendHead* head, int offset, int bytes) =>
        head->_vector = new IoVector { Address = PayloadOf(head) + offset, Bytes = (nuint)bytes };

    /// <summary>
    /// Removes the size of segments, if it is there: then it is first. The kernel refuses it in a message that it does not cut.
    /// </summary>
    public static void RemoveSegments(DatagramSendHead* head)
    {
        var first = (ControlHeader*)head->_message.Control;
        if (first is null || first->Level != SocketOptionNumber.LevelUdp)
        {
            return;
        }

        nuint bytes = (nuint)SpaceOf(sizeof(ushort));
        head->_message.ControlBytes -= bytes;
        head->_message.Control = head->_message.ControlBytes == 0 ? null : (byte*)head->_message.Control + bytes;
    }

    private static void AddSource(DatagramSendHead* head, ref int at, in DatagramAddress from, bool isIPv6)
    {
        if (isIPv6)
        {
            var six = new PacketInfoIPv6
            {
                High = DatagramAddress.Swap(from.High),
                Low = DatagramAddress.Swap(from.Low),
                Interface = from.Scope,
            };
            Add(head, ref at, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6PacketInfo, six);
        }
        else if (from.IsIPv4)
        {
            var four = new PacketInfoIPv4 { Local = DatagramAddress.Swap((uint)from.Low) };
            Add(head, ref at, SocketOptionNumber.LevelIP, SocketOptionNumber.PacketInfo, four);
        }
    }

    private static void Add<T>(DatagramSendHead* head, ref int at, int level, int type, T value)
        where T : unmanaged
    {
        Debug.Assert(at + SpaceOf(sizeof(T)) <= ControlBytes, "A control message does not fit.");
        byte* control = head->_control + at;
        *(ControlHeader*)control = new ControlHeader { Bytes = (nuint)(sizeof(ControlHeader) + sizeof(T)), Level = level, Type = type };
        Unsafe.WriteUnaligned(control + sizeof(ControlHeader), value);
        at += SpaceOf(sizeof(T));
    }

    /// <summary>Each control message begins at a multiple of 8.</summary>
    private static int SpaceOf(int bytes) => sizeof(ControlHeader) + ((bytes + 7) & -8);
}
