using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Where and how to send what <see cref="QuicConnection.Send"/> wrote: datagrams of <paramref name="SegmentSize"/> bytes one after another,
/// of which the last may be shorter, as UDP_SEGMENT takes them. They may go at once: the pacer speaks through the connection's timer.
/// </summary>
internal readonly record struct DatagramInfo(
    PathAddress Local, PathAddress Remote, EcnMark Ecn, int SegmentSize, int Segments);
