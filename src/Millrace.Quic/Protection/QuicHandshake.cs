namespace Millrace.Quic.Protection;

/// <summary>
/// The TLS 1.3 handshake of one connection, as QUIC carries it (RFC 9001, section 4): handshake messages in CRYPTO frames, no records. Its
/// connection owns it and feeds it with what CRYPTO streams bring, in order; it reports to an <see cref="IHandshakeSink"/> within
/// the call. One thread.
/// </summary>
internal abstract class QuicHandshake : IDisposable
{
    /// <summary>The handshake is complete at this end: the peer's Finished was verified.</summary>
    public abstract bool IsComplete { get; }

    /// <summary>
    /// The version of QUIC, by whose labels keys are derived. The connection sets it before <see cref="Start"/>. In compatible version
    /// negotiation (RFC 9368) a server sets another one within <see cref="IHandshakeSink.ReceiveTransportParameters"/>, and a client before
    /// <see cref="Receive"/> of the server's first message.
    /// </summary>
    public virtual uint Version { get; set; } = 1;

    /// <summary>The protocol that ALPN chose; empty before.</summary>
    public abstract ReadOnlySpan<byte> ApplicationProtocol { get; }

    /// <summary>Memory that it holds now, as an estimate.</summary>
    public virtual int MemoryBytes => 0;

    /// <summary>
    /// Begins, as a client with a ClientHello. A server begins with its first <see cref="Receive"/>.
    /// <paramref name="transportParameters"/>: the encoded parameters of this end.
    /// </summary>
    public abstract void Start(ReadOnlySpan<byte> transportParameters, IHandshakeSink sink);

    /// <summary>
    /// Replaces the parameters of this end, on a server within <see cref="IHandshakeSink.ReceiveTransportParameters"/>: they say which
    /// version it has chosen.
    /// </summary>
    public virtual void SetTransportParameters(ReadOnlySpan<byte> transportParameters)
    {
    }

    /// <summary>Takes the next bytes of the CRYPTO stream of a level; after the handshake too (NewSessionTicket).</summary>
    public abstract void Receive(EncryptionLevel level, ReadOnlySpan<byte> bytes, IHandshakeSink sink);

    public abstract void Dispose();
}

/// <summary>The connection, as its handshake sees it.</summary>
internal interface IHandshakeSink
{
    /// <summary>Handshake messages to send in CRYPTO frames of a level.</summary>
    void SendHandshake(EncryptionLevel level, ReadOnlySpan<byte> bytes);

    /// <summary>
    /// Keys are there, at levels Handshake and OneRtt; of each level those of one direction may come before those of the other. The sink
    /// owns the protector.
    /// </summary>
    void InstallKeys(EncryptionLevel level, bool isForSending, PacketProtector protector);

    /// <summary>The peer's transport parameters, encoded, once; before the keys that open 1-RTT packets.</summary>
    void ReceiveTransportParameters(ReadOnlySpan<byte> encoded);

    /// <summary>Called once, when <see cref="QuicHandshake.IsComplete"/> becomes true.</summary>
    void CompleteHandshake();

    /// <summary>The handshake failed with a TLS alert: close with 0x100 + alert (RFC 9001, section 4.8).</summary>
    void FailHandshake(byte alert, string reason);
}
