namespace Millrace.Tls.OpenSsl;

/// <summary>Constants of <c>ssl.h</c>, <c>tls1.h</c>, <c>bio.h</c> and their error lists, equal in every OpenSSL 3.</summary>
internal static class SslConstants
{
    public const int ControlReadAhead = 41;
    public const int ControlSessionCacheMode = 44;
    public const int ControlMaxCertificateList = 51;
    /// <summary>Of the information callback: an alert is sent.</summary>
    public const int InformationWriteAlert = 0x4008;

    public const int ControlServerNameCallback = 53;
    public const int ControlSetServerName = 55;
    public const int ControlGroupsList = 92;
    public const int ControlMinProtocol = 123;
    public const int ControlGetMaxProtocol = 131;
    public const int ControlGetNegotiatedGroup = 134;

    public const int Tls12Version = 0x0303;
    public const int Tls13Version = 0x0304;

    public const ulong OptionNoTicket = 1UL << 14;
    public const ulong OptionNoCompression = 1UL << 17;
    public const ulong OptionMiddleboxCompatibility = 1UL << 20;
    public const ulong OptionPrioritizeChaCha = 1UL << 21;
    public const ulong OptionCipherServerPreference = 1UL << 22;
    public const ulong OptionNoRenegotiation = 1UL << 30;

    public const int ErrorNone = 0;
    public const int ErrorWantRead = 2;
    public const int ErrorZeroReturn = 6;
    public const int ErrorWantClientHello = 11;

    /// <summary>Sessions of clients are given to the callback, and kept nowhere else.</summary>
    public const int SessionCacheClientOnly = 0x0001 | 0x0300;

    public const int VerifyNone = 0;
    public const int VerifyPeer = 1;
    public const int VerifyFailIfNoPeerCertificate = 2;

    public const uint ExtensionServerName = 0;
    public const uint ExtensionProtocols = 16;
    public const uint ExtensionQuicParameters = 57;

    /// <summary>Messages that carry an extension of <c>SSL_CTX_add_custom_ext</c>.</summary>
    public const uint InClientHello = 0x0080;
    public const uint InTls12ServerHello = 0x0100;
    public const uint InEncryptedExtensions = 0x0400;

    public const int ClientHelloRetry = -1;
    public const int ClientHelloError = 0;
    public const int ClientHelloSuccess = 1;

    public const int ExtensionOk = 0;
    public const int ExtensionAlertFatal = 2;
    public const int ExtensionNoAcknowledgement = 3;

    public const int AlertUnexpectedMessage = 10;
    public const int AlertIllegalParameter = 47;
    public const int SentShutdown = 1;
    public const int KeyUpdateNotRequested = 0;
    public const byte AlertWarning = 1;
    public const byte AlertCloseNotify = 0;
    public const int AlertInternalError = 80;
    public const int AlertMissingExtension = 109;
    public const int AlertUnsupportedExtension = 110;
    public const int AlertNoApplicationProtocol = 120;

    /// <summary>Contents of records, as the callback for messages names them.</summary>
    public const byte ContentAlert = 21;
    public const byte ContentHandshake = 22;

    /// <summary>Alerts that end both directions were sent and received.</summary>
    public const int ShutdownBoth = 1 | 2;

    public const int CipherGetTag = 0x10;
    public const int CipherSetTag = 0x11;

    public const int NameTypeHost = 0;

    public const int BioTypeSourceSink = 0x0400;
    public const int BioControlFlush = 11;
    public const int BioFlagsRetryRead = 0x01 | 0x08;
    public const int BioFlagsRetry = 0x01 | 0x02 | 0x04 | 0x08;

    /// <summary>Errors as <c>ERR_get_error</c> packs them: the library above 23 bits of reason.</summary>
    public const ulong SslUnknownCertificateType = SslLibrary | 247;
    public const ulong SslAuthorityKeyTooSmall = SslLibrary | 397;
    public const ulong SslAuthorityDigestTooWeak = SslLibrary | 398;
    public const ulong SslKeyTooSmall = SslLibrary | 399;
    public const ulong EvpAlgorithmUnsupported = (6UL << 23) | 0x8010C;

    public const ulong SslPacketTooLong = SslLibrary | 198;
    public const ulong SslUnsupportedProtocol = SslLibrary | 258;
    public const ulong SslWrongVersion = SslLibrary | 267;

    /// <summary>Alerts of the peer are 1000 above their numbers.</summary>
    public const ulong SslAlertHandshakeFailure = SslLibrary | 1040;
    public const ulong SslAlertBadCertificate = SslLibrary | 1042;
    public const ulong SslAlertProtocolVersion = SslLibrary | 1070;
    public const ulong SslAlertUnrecognizedName = SslLibrary | 1112;
    public const ulong SslAlertCertificateRequired = SslLibrary | 1116;
    public const ulong SslAlertNoProtocol = SslLibrary | 1120;

    /// <summary>A certificate in the file of authorities is trusted, also if it is not a root.</summary>
    public const ulong TrustPartialChain = 0x80000;

    /// <summary>Names of hosts are alternative names, as browsers require (RFC 9525), and a wildcard is a whole label.</summary>
    public const uint HostFlags = 0x4 | 0x20;

    /// <summary>Results of a verification.</summary>
    public const int CertificateNotYetValid = 9;
    public const int CertificateExpired = 10;
    public const int CertificateSelfSigned = 18;
    public const int RootNotTrusted = 19;
    public const int IssuerUnknown = 20;
    public const int IssuerMissing = 21;
    public const int HostMismatch = 62;
    public const int AddressMismatch = 64;

    private const ulong SslLibrary = 20UL << 23;
}
