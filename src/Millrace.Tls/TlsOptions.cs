using Millrace.Tls.Handshakes;

namespace Millrace.Tls;

/// <summary>How TLS is terminated. What is not here is fixed: TLS 1.2 and 1.3, forward secrecy and AEAD only, no renegotiation.</summary>
public sealed record TlsOptions
{
    /// <summary>
    /// Certificates with their keys. Which one a client is shown, the names in them say; the first where none fits, and for clients that
    /// name no host.
    /// </summary>
    public required IReadOnlyList<ServerCertificate> Certificates { get; init; }

    /// <summary>
    /// What is offered by ALPN, the most wanted first. A client that offers ALPN and none of these is refused; one that offers none at
    /// all is served.
    /// </summary>
    public IReadOnlyList<string> ApplicationProtocols { get; init; } = ["http/1.1"];

    /// <summary>The lowest version that is spoken.</summary>
    public TlsVersion MinimumVersion { get; init; } = TlsVersion.Tls12;

    /// <summary>Whether clients are asked for certificates of their own.</summary>
    public ClientCertificates ClientCertificates { get; init; }

    /// <summary>
    /// A PEM file of the authorities whose certificates clients may show. Null: any will do for the handshake, and whoever serves the
    /// connection judges it (<see cref="TlsSession.ClientCertificate"/>).
    /// </summary>
    public string? ClientAuthoritiesFile { get; init; }

    /// <summary>
    /// How long a handshake may take from the connection's first moment: three lost segments' worth (1, 3 and 7 s), and less than anybody
    /// waits.
    /// </summary>
    public TimeSpan HandshakeTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Time of a reactor's turn that handshakes may use, so that a storm of them does not hold up established connections. One is always
    /// made: some ten at P-256, two or three at RSA 2048.
    /// </summary>
    public TimeSpan HandshakeTimePerTurn { get; init; } = TimeSpan.FromMilliseconds(2);

    /// <summary>
    /// How long a key protects new tickets of resumption; it opens them for as long again. Clients may resume for as long: who steals a
    /// key can read what was resumed by TLS 1.2 in that time.
    /// </summary>
    public TimeSpan TicketKeyLifetime { get; init; } = TimeSpan.FromHours(6);

    /// <summary>
    /// A file to which the secrets of every connection are appended, as Wireshark reads them (the format of SSLKEYLOGFILE). For debugging:
    /// whoever has it can read all traffic.
    /// </summary>
    public string? KeyLogFile { get; init; }

    /// <summary>What whoever serves a connection sees of an end without close_notify.</summary>
    internal CutStream CutStream { get; init; }

    /// <summary>What handshakes take their places from; null for as many as there are connections.</summary>
    internal ConnectionPlaces? Places { get; init; }

    internal void Validate()
    {
        if (Certificates.Count == 0)
        {
            throw new TlsException("TLS needs a certificate: name one, with its key.");
        }

        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(HandshakeTimeout, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(HandshakeTimePerTurn, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(TicketKeyLifetime, TimeSpan.FromSeconds(1));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(TicketKeyLifetime, TimeSpan.FromDays(7));
    }
}

/// <summary>A version of the protocol.</summary>
public enum TlsVersion
{
    /// <summary>RFC 5246.</summary>
    Tls12,

    /// <summary>RFC 8446.</summary>
    Tls13,
}

/// <summary>What is asked of clients.</summary>
public enum ClientCertificates
{
    /// <summary>No certificate.</summary>
    None,

    /// <summary>A certificate, if they have one.</summary>
    Optional,

    /// <summary>A certificate; without one there is no connection.</summary>
    Required,
}

/// <summary>What an end without close_notify is (RFC 8446, section 6.1): anybody between the two may have cut the stream.</summary>
internal enum CutStream
{
    /// <summary>The end of a connection that was reset.</summary>
    IsReset,

    /// <summary>
    /// An end like another, for protocols whose messages say how long they are. As an <see cref="System.Net.Security.SslStream"/> has it.
    /// </summary>
    IsEnd,
}
