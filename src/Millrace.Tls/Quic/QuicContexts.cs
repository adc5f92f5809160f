using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Quic;

/// <summary>The settings of contexts for connections of QUIC, and what those of TCP do not accept of it. Any thread.</summary>
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

    /// <summary>
    /// Has TLS over TCP know the extension for transport parameters without sending it (RFC 9001, section 8.2). OpenSSL ignores extensions
    /// that it does not know. Of those that it knows, a client refuses what it has not sent with unsupported_extension, and a server's
    /// callback for ClientHello finds them. A library that has the extension by itself does not take it.
    /// </summary>
    public static void RecognizeParameters(nint context, bool isClient)
    {
        uint messages = isClient ? SslConstants.InTls12ServerHello | SslConstants.InEncryptedExtensions : SslConstants.InClientHello;
        if (LibSsl.SSL_CTX_add_custom_ext(context, SslConstants.ExtensionQuicParameters, messages, null, null, null, null, null) != 1)
        {
            OpenSslErrors.Clear();
        }
    }
}
