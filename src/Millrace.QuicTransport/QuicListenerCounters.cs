using Millrace.Engine.Datagrams;

namespace Millrace.QuicTransport;

/// <summary>Counters of a listener's connections on one reactor. Written by its thread; others read without a lock and may lag.</summary>
internal sealed class QuicListenerCounters
{
    /// <summary>Open connections, without those that are only waiting for late packets of the peer.</summary>
    public long Connections;

    /// <summary>Connections that have begun a handshake.</summary>
    public long Accepted;

    /// <summary>Handshakes that were completed.</summary>
    public long Handshakes;

    /// <summary>Connections that ended before their handshake was complete.</summary>
    public long HandshakesFailed;

    /// <summary>Connections refused: because of a limit, lack of memory, or a stop.</summary>
    public long Refused;

    /// <summary>Retry packets, by which clients are asked to prove their address.</summary>
    public long Retries;

    /// <summary>Answers to clients of other versions.</summary>
    public long VersionNegotiations;

    /// <summary>Stateless resets sent, for packets of connections that are not known (any more).</summary>
    public long StatelessResets;

    /// <summary>Connections that this end closed because of an error of the peer, or an inner one.</summary>
    public long Failed;

    /// <summary>Connections ended by their idle timeout.</summary>
    public long TimedOut;

    /// <summary>Changes of a client's address.</summary>
    public long Migrations;

    /// <summary>Sent packets that were declared lost.</summary>
    public long PacketsLost;

    /// <summary>Each has one packet, but for those of handshakes.</summary>
    public long DatagramsReceived;

    public long DatagramsSent;

    /// <summary>Datagrams that the kernel has dropped, as the socket had no room for them.</summary>
    public long DatagramsDropped => Volatile.Read(ref Socket)?.KernelDrops ?? 0;

    /// <summary>Bytes of datagrams, without their IP and UDP headers.</summary>
    public long BytesReceived;

    public long BytesSent;

    /// <summary>Datagrams of other reactors' connections, handed over to them.</summary>
    public long HandedOver;

    /// <summary>Of these, those that were dropped since too many were on their way.</summary>
    public long HandOversDropped;

    /// <summary>Of the socket of the reactor.</summary>
    internal DatagramCounters? Socket;
}
