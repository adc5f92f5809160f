using Millrace.Quic.Frames;

namespace Millrace.Quic;

/// <summary>
/// Why a connection is closed, as its CONNECTION_CLOSE frame says it (RFC 9000, section 19.19). The code is a
/// <see cref="TransportErrorCode"/>, or the application's. Made once for a connection.
/// </summary>
internal sealed record QuicError(long Code, FrameType FrameType, string Reason, bool IsApplication)
{
    /// <summary>The frame type is that of the frame that caused the error; Padding: none did, or it is not known.</summary>
    public QuicError(TransportErrorCode code, string reason, FrameType frameType = FrameType.Padding)
        : this((long)code, frameType, reason, IsApplication: false)
    {
    }

    public bool Is(TransportErrorCode code) => !IsApplication && Code == (long)code;

    /// <summary>A failed TLS handshake (RFC 9001, section 4.8).</summary>
    public static QuicError OfAlert(byte alert, string reason)
        => new((long)TransportErrorCode.CryptoError + alert, FrameType.Crypto, reason, IsApplication: false);

    /// <summary>The application ends the connection with a code of its own.</summary>
    public static QuicError OfApplication(long code, string reason) => new(code, FrameType.Padding, reason, IsApplication: true);
}
