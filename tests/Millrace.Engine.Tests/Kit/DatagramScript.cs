using Millrace.Engine.Backends;
using Millrace.Engine.Datagrams;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Tests.Kit;

/// <summary>Messages as a kernel would put them into a buffer for datagrams.</summary>
internal static class DatagramScript
{
    public static readonly DatagramAddress Peer = DatagramAddress.OfIPv4(0x7F00_0001, 50_000);

    /// <summary>A <c>struct sockaddr_in6</c> of all addresses.</summary>
    public static byte[] AnyAddress(ushort port)
    {
        byte[] address = new byte[28];
        _ = new DatagramAddress(0, 0, port, 0).Write(address, isIPv6: true);
        return address;
    }

    /// <summary>A message; <paramref name="claimed"/> bytes arrived, if more than there are.</summary>
    public static unsafe byte[] Message(byte[] payload, byte[]? control = null, DatagramAddress? from = null, int claimed = 0, uint flags = 0)
    {
        control ??= [];
        byte[] buffer = new byte[DatagramBuffer.PayloadOffset + payload.Length];
        int nameBytes = (from ?? Peer).Write(buffer.AsSpan(DatagramBuffer.NameOffset), isIPv6: true);
        control.CopyTo(buffer.AsSpan(DatagramBuffer.ControlOffset));
        payload.CopyTo(buffer.AsSpan(DatagramBuffer.PayloadOffset));
        fixed (byte* start = buffer)
        {
            *(ReceivedMessage*)start = new ReceivedMessage
            {
                NameBytes = (uint)nameBytes,
                ControlBytes = (uint)control.Length,
                PayloadBytes = (uint)Math.Max(claimed, payload.Length),
                Flags = flags,
            };
        }

        return buffer;
    }
}
