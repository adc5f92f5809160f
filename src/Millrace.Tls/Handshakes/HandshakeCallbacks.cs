using System.Runtime.InteropServices;
using System.Text;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tickets;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// OpenSSL's callbacks during a handshake, for the server at work. No exception may leave them: it would end the process.
/// </summary>
internal static unsafe class HandshakeCallbacks
{
    private const int HostBytesMax = 255;

    /// <summary>The ClientHello has come, and nothing of it is decided.</summary>
    [UnmanagedCallersOnly]
    public static int OnClientHello(nint ssl, int* alert, void* argument)
    {
        if (SslOwner.Current?.Server is not { } server)
        {
            return SslConstants.ClientHelloSuccess;
        }

        int result = server.InspectHello(ssl, out int refusal);
        if (result == SslConstants.ClientHelloError)
        {
            *alert = refusal;
        }

        return result;
    }

    /// <summary>SNI: selects the certificate of the host that the client names, if it has one.</summary>
    [UnmanagedCallersOnly]
    public static int OnServerName(nint ssl, int* alert, void* argument)
    {
        byte* name = LibSsl.SSL_get_servername(ssl, SslConstants.NameTypeHost);
        if (name is null
            || SslOwner.Current?.Server is not { Certificates: { } certificates } server)
        {
            return SslConstants.ExtensionNoAcknowledgement;
        }

        ReadOnlySpan<byte> host = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(name);
        Span<char> text = stackalloc char[HostBytesMax];
        if (host.Length <= text.Length && Encoding.Latin1.TryGetChars(host, text, out int count)
            && certificates.Find(text[..count]) is { } chosen && chosen != certificates.Default)
        {
            if (LibSsl.SSL_set_SSL_CTX(ssl, chosen.Handle) == 0)
            {
                // Out of memory: without the alert the client would get another host's certificate.
                *alert = SslConstants.AlertInternalError;
                return SslConstants.ExtensionAlertFatal;
            }

            server.CertificateNames = chosen.Covered;
        }

        return SslConstants.ExtensionOk;
    }

    /// <summary>ALPN (RFC 7301): selects the server's first protocol that the client offers; none in common ends the handshake.</summary>
    [UnmanagedCallersOnly]
    public static int OnProtocols(nint ssl, byte** chosen, byte* chosenBytes, byte* offered, uint offeredBytes, void* argument)
    {
        IServerHandshake server = SslOwner.Current!.Server!;
        IReadOnlyList<ApplicationProtocol> protocols = server.Protocols;
        foreach (ApplicationProtocol protocol in protocols)
        {
            if (protocol.FindIn(new ReadOnlySpan<byte>(offered, (int)offeredBytes)) is int at and >= 0)
            {
                *chosen = offered + at;
                *chosenBytes = (byte)protocol.Bytes.Length;
                server.ApplicationProtocol = protocol.Name;
                return SslConstants.ExtensionOk;
            }
        }

        return protocols.Count == 0 ? SslConstants.ExtensionNoAcknowledgement : SslConstants.ExtensionAlertFatal;
    }

    /// <summary>
    /// Ticket keys. TLS 1.3 clients use each ticket once (RFC 8446, section C.4), so a resumed session gets a new one. Not where
    /// certificates are verified: through a chain of tickets one verification would hold forever (section 4.6.1).
    /// </summary>
    [UnmanagedCallersOnly]
    public static int OnTicketKey(nint ssl, byte* name, byte* vector, nint cipher, nint mac, int isIssue)
    {
        TlsTerminator terminator = SslOwner.Current!.Server!.Terminator;
        TicketKeys keys = terminator.TicketKeys;
        if (isIssue == 1)
        {
            return keys.Protect(name, vector, cipher, mac);
        }

        int opened = keys.Unprotect(name, vector, cipher, mac);
        if (terminator.VerifiesClients)
        {
            return Math.Min(opened, TicketKeys.Opened);
        }

        return opened == TicketKeys.Opened && LibSsl.SSL_version(ssl) == SslConstants.Tls13Version ? TicketKeys.OpenedAndRenew : opened;
    }

    /// <summary>Of all that OpenSSL tells, the alerts that it sends.</summary>
    [UnmanagedCallersOnly]
    public static void OnInformation(nint ssl, int what, int number)
    {
        if (what == SslConstants.InformationWriteAlert)
        {
            SslOwner.Current?.NoteSentAlert(number);
        }
    }

    [UnmanagedCallersOnly]
    public static void OnKeyLogLine(nint ssl, byte* line)
    {
        ReadOnlySpan<byte> text = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(line);
        SslOwner.Current?.TakeSecret(text);
        SslOwner.Current?.Server?.Terminator.KeyLog?.TryWrite(text);
    }

    /// <summary>Accepts every certificate: the handler checks it.</summary>
    [UnmanagedCallersOnly]
    public static int OnVerifyLater(int isValid, nint storeContext) => 1;

    /// <summary>Returns the password; without one it fails, where the library's own callback would prompt at the terminal.</summary>
    [UnmanagedCallersOnly]
    public static int OnPassword(byte* bytes, int most, int isWrite, void* password)
    {
        if (password is null)
        {
            return 0;
        }

        ReadOnlySpan<byte> text = MemoryMarshal.CreateReadOnlySpanFromNullTerminated((byte*)password);
        if (text.Length > most)
        {
            return 0;
        }

        text.CopyTo(new Span<byte>(bytes, most));
        return text.Length;
    }
}
