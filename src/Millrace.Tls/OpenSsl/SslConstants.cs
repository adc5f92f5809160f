namespace Millrace.Tls.OpenSsl;

/// <summary>Constants of <c>ssl.h</c>, <c>tls1.h</c>, <c>bio.h</c> and their error lists that are the same in every OpenSSL 3.</summary>
internal static class SslConstants
{
    public const int ControlReadAhead = 41;
    public const int ControlSessionCacheMode = 44;
    public const int ControlMaxCertificateList = 51;
    public const int ControlServerNameCallback = 53;
    public const int ControlChainCertificate = 89;
    public const int ControlGroupsList = 92;
    public const int ControlMinProtocol = 123;

    public const int Tls12Version = 0x0303;
    public const int Tls13Version = 0x0304;

    public const ulong OptionNoCompression = 1UL << 17;
    public const ulong OptionPrioritizeChaCha = 1UL << 21;
    public const ulong OptionCipherServerPreference = 1UL << 22;
    public const ulong OptionNoRenegotiation = 1UL << 30;

    public const int ErrorWantRead = 2;
    public const int ErrorZeroReturn = 6;

    public const int VerifyPeer = 1;
    public const int VerifyFailIfNoPeerCertificate = 2;

    public const int ExtensionOk = 0;
    public const int ExtensionAlertFatal = 2;
    public const int ExtensionNoAcknowledgement = 3;

    public const int FileTypePem = 1;
    public const int NameTypeHost = 0;

    public const int BioTypeSourceSink = 0x0400;
    public const int BioControlFlush = 11;
    public const int BioFlagsRetryRead = 0x01 | 0x08;
    public const int BioFlagsRetry = 0x01 | 0x02 | 0x04 | 0x08;

    /// <summary>X509_R_KEY_VALUES_MISMATCH as <c>ERR_get_error</c> packs it: the library (11, X509) above 23 bits of reason.</summary>
    public const ulong X509KeyValuesMismatch = (11UL << 23) | 116;
}
