using System.Runtime.InteropServices;
using System.Text;
using Millrace.Tls.OpenSsl;
using Millrace.Tls.Tickets;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// What OpenSSL asks during a handshake, answered by the stage at work. No exception crosses: it would be the process's end.
/// </summary>
internal static unsafe class Callbacks
{
    private const int HostBytesMax = 255;

    /// <summary>SNI: another certificate than the default one, where the client names a host that has one.</summary>
    [UnmanagedCallersOnly]
    public static int OnServerName(nint ssl, int* alert, void* argument)
    {
        byte* name = LibSsl.SSL_get_servername(ssl, SslConstants.NameTypeHost);
        if (name is null || TlsStage.AtWork?.Certificates is not { } certificates)
        {
            return SslConstants.ExtensionNoAcknowledgement;
        }

        ReadOnlySpan<byte> host = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(name);
        Span<char> text = stackalloc char[HostBytesMax];
        if (host.Length <= text.Length && Encoding.Latin1.TryGetChars(host, text, out int count)
            && certificates.Find(text[..count]) is { } chosen && chosen != certificates.Default)
        {
            _ = LibSsl.SSL_set_SSL_CTX(ssl, chosen.Handle);
        }

        return SslConstants.ExtensionOk;
    }

    /// <summary>ALPN (RFC 7301): the first of ours that the client offers; none in common ends the handshake.</summary>
    [UnmanagedCallersOnly]
    public static int OnProtocols(nint ssl, byte** chosen, byte* chosenBytes, byte* offered, uint offeredBytes, void* argument)
    {
        TlsStage stage = TlsStage.AtWork!;
        foreach (ApplicationProtocol protocol in stage.Terminator.Protocols)
        {
            if (protocol.FindIn(new ReadOnlySpan<byte>(offered, (int)offeredBytes)) is int at and >= 0)
            {
                *chosen = offered + at;
                *chosenBytes = (byte)protocol.Bytes.Length;
                stage.ApplicationProtocol = protocol.Name;
                return SslConstants.ExtensionOk;
            }
        }

        return SslConstants.ExtensionAlertFatal;
    }

    /// <summary>
    /// Tickets. In TLS 1.3 clients use each once (RFC 8446, section C.4): who resumed is given another, or would soon have none. Not where
    /// certificates are verified: from one ticket to the next what was verified once would be good for ever (section 4.6.1).
    /// </summary>
    [UnmanagedCallersOnly]
    public static int OnTicketKey(nint ssl, byte* name, byte* vector, nint cipher, nint mac, int isIssue)
    {
        TlsTerminator terminator = TlsStage.AtWork!.Terminator;
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

    [UnmanagedCallersOnly]
    public static void OnKeyLogLine(nint ssl, byte* line)
    {
        if (TlsStage.AtWork?.Terminator.KeyLog is { } log)
        {
            log.TryWrite(MemoryMarshal.CreateReadOnlySpanFromNullTerminated(line));
        }
    }

    /// <summary>Every certificate will do: whoever serves the connection judges it.</summary>
    [UnmanagedCallersOnly]
    public static int OnVerifyLater(int isValid, nint storeContext) => 1;

    /// <summary>Never asks at the terminal, as the library's own would.</summary>
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
