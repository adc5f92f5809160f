using Millrace.Quic.Recovery;

namespace Millrace.Quic.Connections;

/// <summary>
/// Where and how to send what <see cref="QuicConnection.Send"/> wrote: datagrams of <paramref name="SegmentSize"/> bytes one after another,
/// of which the last may be shorter, as UDP_SEGMENT takes them. <paramref name="NotBefore"/>: the pacer's time; 0: now.
/// </summary>
internal readonly record struct DatagramInfo(
    PathAddress Local, PathAddress Remote, EcnMark Ecn, int SegmentSize, int Segments, long NotBefore);
