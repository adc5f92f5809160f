using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>The settings of a context whose connections are those of QUIC. Any thread.</summary>
internal static unsafe class QuicContexts
{
    /// <exception cref="TlsException">OpenSSL refuses one of them.</exception>
    public static void Configure(nint context)
    {
        // RFC 9001, section 8.4.
        _ = LibSsl.SSL_CTX_clear_options(context, SslConstants.OptionMiddleboxCompatibility);
        if (QuicLibrary.HasCallbacks)
        {
            return;
        }

        LibSsl.SSL_CTX_set_keylog_callback(context, &HandshakeCallbacks.OnKeyLogLine);
        int isAdded = LibSsl.SSL_CTX_add_custom_ext(
            context,
            SslConstants.ExtensionQuicParameters,
            SslConstants.InClientHello | SslConstants.InEncryptedExtensions,
            &RecordQuicSsl.OnAddParameters,
            null,
            null,
            &RecordQuicSsl.OnParseParameters,
            null);
        ContextSettings.Require(isAdded, "extension for transport parameters");
    }
}
