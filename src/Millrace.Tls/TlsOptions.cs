using Millrace.Tls.Handshakes;

namespace Millrace.Tls;

/// <summary>The configuration of TLS. The rest is fixed: TLS 1.2 and 1.3, forward secrecy and AEAD only, no renegotiation.</summary>
public sealed record TlsOptions
{
    /// <summary>
    /// Certificates with their keys. A client gets the one whose names match its host; the first if none matches or the client names no
    /// host.
    /// </summary>
    public required IReadOnlyList<ServerCertificate> Certificates { get; init; }

    /// <summary>
    /// The ALPN protocols, in order of preference. A client that offers ALPN without any of these is refused; one without ALPN is served.
    /// </summary>
    public IReadOnlyList<string> ApplicationProtocols { get; init; } = ["http/1.1"];

    /// <summary>The lowest version that is accepted.</summary>
    public TlsVersion MinimumVersion { get; init; } = TlsVersion.Tls12;

    /// <summary>Whether clients are asked for certificates.</summary>
    public ClientCertificates ClientCertificates { get; init; }

    /// <summary>
    /// A PEM file of the authorities that issue client certificates. Null: the handshake accepts any certificate, and the handler must
    /// check it (<see cref="TlsSession.ClientCertificate"/>).
    /// </summary>
    public string? ClientAuthoritiesFile { get; init; }

    /// <summary>
    /// The time limit of a handshake, from the accept on: enough for three lost segments (1, 3 and 7 s), and less than clients wait.
    /// </summary>
    public TimeSpan HandshakeTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// The time per iteration of a reactor that handshakes may use, so that many of them do not delay established connections. At least one
    /// step is made: some ten fit at P-256, two or three at RSA 2048.
    /// </summary>
    public TimeSpan HandshakeTimePerIteration { get; init; } = TimeSpan.FromMilliseconds(2);

    /// <summary>
    /// How long a key protects new session tickets; it decrypts them for as long again. Clients may resume for as long: a
    /// stolen key decrypts what was resumed by TLS 1.2 in that time.
    /// </summary>
    public TimeSpan TicketKeyLifetime { get; init; } = TimeSpan.FromHours(6);

    /// <summary>
    /// A file to which the secrets of every connection are appended, for Wireshark (the format of SSLKEYLOGFILE). For debugging:
    /// anyone who can read it can decrypt all traffic.
    /// </summary>
    public string? KeyLogFile { get; init; }

    /// <summary>
    /// Certificates of ACME's TLS-ALPN-01 challenges (RFC 8737). Called for a client that offers the ALPN protocol <c>acme-tls/1</c> alone,
    /// with the name that it sends by SNI, in lower case (of an address the name in <c>in-addr.arpa</c> or <c>ip6.arpa</c>). The handshake
    /// completes with the certificate and this protocol, whatever is required of other clients, and the connection ends without a call of
    /// the handler. Null refuses the client. On the reactor's thread: it must not block. A result that comes later delays the handshake, up
    /// to its time limit.
    /// </summary>
    public Func<string, ValueTask<LoadedCertificate?>>? ChallengeCertificates { get; init; }

    /// <summary>
    /// Handshakes of a reactor that may wait for their clients after the ClientHello: some 55 MB. A client responds within a round trip,
    /// and a core processes some 3,000 hellos a second.
    /// </summary>
    internal int HalfOpenHandshakesMax { get; init; } = 1_024;

    /// <summary>
    /// Whether the handler sees an end without close_notify as an ordinary end and not as a reset, as with
    /// <see cref="System.Net.Security.SslStream"/>. An attacker may have truncated the stream (RFC 8446, section 6.1): only for protocols
    /// whose messages carry their length.
    /// </summary>
    internal bool AcceptsTruncation { get; init; }

    /// <summary>Whether its connections are those of QUIC, which have TLS 1.3 only, and no others.</summary>
    internal bool ServesQuic { get; init; }

    /// <summary>The quota that handshakes share with served connections; null for no limit.</summary>
    internal ConnectionQuota? Quota { get; init; }

    internal void Validate()
    {
        RequireDefined(MinimumVersion, nameof(MinimumVersion));
        RequireDefined(ClientCertificates, nameof(ClientCertificates));
        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(HandshakeTimeout, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(HandshakeTimePerIteration, TimeSpan.Zero);
        ArgumentOutOfRangeException.ThrowIfLessThan(TicketKeyLifetime, TimeSpan.FromSeconds(1));
        ArgumentOutOfRangeException.ThrowIfGreaterThan(TicketKeyLifetime, TimeSpan.FromDays(7));
    }

    private static void RequireDefined<T>(T value, string name)
        where T : struct, Enum
    {
        if (!Enum.IsDefined(value))
        {
            throw new ArgumentOutOfRangeException(name, value, $"The valid values are {string.Join(", ", Enum.GetNames<T>())}.");
        }
    }
}

/// <summary>A version of TLS.</summary>
public enum TlsVersion
{
    /// <summary>RFC 5246.</summary>
    Tls12,

    /// <summary>RFC 8446.</summary>
    Tls13,
}

/// <summary>Whether clients must present certificates.</summary>
public enum ClientCertificates
{
    /// <summary>No certificate.</summary>
    None,

    /// <summary>A certificate, if they have one.</summary>
    Optional,

    /// <summary>A certificate; the handshake fails without one.</summary>
    Required,
}
