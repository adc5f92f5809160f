namespace Millrace.Quic.Protection;

/// <summary>Which keys protect a packet (RFC 9001, section 4). 0-RTT is not used: OpenSSL 3.0 cannot provide it.</summary>
internal enum EncryptionLevel : byte
{
    Initial,
    Handshake,
    OneRtt,
}
