using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Proxying;

/// <summary>
/// What the fields for the upstream say about a request's client: its address, the scheme, the host. What an unknown client claims of these
/// is removed; what a trusted proxy says is kept, with the proxy's own address appended. One per connection; reactor thread only.
/// </summary>
/// <param name="peer">The other end of the connection; null for a unix socket.</param>
/// <param name="isTrusted">Whether it is a proxy whose claims are kept.</param>
/// <param name="isHttps">Whether the connection carries https.</param>
internal sealed class ForwardedClient(IPAddress? peer, bool isTrusted, bool isHttps)
{
    /// <summary>The longest IPv6 address with its zone, in quotes and brackets.</summary>
    private const int AddressBytesMax = 96;

    /// <summary>The fields that are the same for each request of a stranger: those with its address and the scheme.</summary>
    private byte[]? _strangersLines;

    private ReadOnlySpan<byte> Scheme => isHttps ? "https"u8 : "http"u8;

    /// <summary>Whether this is still the other end of the connection.</summary>
    public bool IsAt(IPAddress? address) => ReferenceEquals(peer, address);

    /// <summary>Whether a field claims something about the client, so that it is replaced or removed.</summary>
    public static bool IsClaim(ReadOnlySpan<byte> name) =>
        (name.Length > XForwarded.Length && Ascii.EqualsIgnoreCase(name[..XForwarded.Length], XForwarded))
        || Words.EqualsIgnoreCase(name, "forwarded"u8)
        || Words.EqualsIgnoreCase(name, "x-real-ip"u8);

    /// <summary>Whether a claim is passed on as it is: one of a trusted proxy that <see cref="Write"/> does not extend.</summary>
    public bool Keeps(ReadOnlySpan<byte> name, ForwardedFields kind) =>
        isTrusted && !IsExtended(name, kind);

    private static ReadOnlySpan<byte> XForwarded => "x-forwarded-"u8;

    private static bool IsExtended(ReadOnlySpan<byte> name, ForwardedFields kind) => kind switch
    {
        ForwardedFields.XForwarded => Words.EqualsIgnoreCase(name, "x-forwarded-for"u8),
        ForwardedFields.Forwarded => Words.EqualsIgnoreCase(name, "forwarded"u8),
        _ => true,
    };

    /// <summary>Writes the fields of one kind.</summary>
    public void Write(LineBuffer lines, ForwardedFields kind, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        ReadOnlySpan<byte> host = head.Authority.In(bytes);
        switch (kind)
        {
            case ForwardedFields.XForwarded:
                WriteXForwarded(lines, head, bytes, host);
                break;
            case ForwardedFields.Forwarded:
                WriteForwarded(lines, head, bytes, host);
                break;
        }
    }

    private void WriteXForwarded(LineBuffer lines, RequestHead head, ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> host)
    {
        if (!isTrusted && _strangersLines is { } known)
        {
            lines.Write(known);
        }
        else
        {
            int before = lines.Written;
            WriteClient(lines, head, bytes);
            _strangersLines = isTrusted ? null : lines.Bytes[before..].ToArray();
        }

        if (!host.IsEmpty && (!isTrusted || !head.Fields.TryFind(bytes, "x-forwarded-host"u8, out _)))
        {
            lines.Field("X-Forwarded-Host"u8, host);
        }
    }

    private void WriteClient(LineBuffer lines, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        bool hasEarlier = isTrusted && head.Has(FieldName.XForwardedFor);
        if (hasEarlier || peer is not null)
        {
            lines.Write("X-Forwarded-For: "u8);
            WriteEarlier(lines, hasEarlier, FieldName.XForwardedFor, head, bytes);
            if (peer is not null)
            {
                lines.Write(hasEarlier ? ", "u8 : default);
                WriteAddress(lines);
            }

            lines.Write("\r\n"u8);
        }

        if (!isTrusted || !head.Fields.TryFind(bytes, "x-forwarded-proto"u8, out _))
        {
            lines.Field("X-Forwarded-Proto"u8, Scheme);
        }
    }

    private void WriteForwarded(LineBuffer lines, RequestHead head, ReadOnlySpan<byte> bytes, ReadOnlySpan<byte> host)
    {
        bool hasEarlier = isTrusted && head.Has(FieldName.Forwarded);
        lines.Write("Forwarded: "u8);
        WriteEarlier(lines, hasEarlier, FieldName.Forwarded, head, bytes);
        lines.Write(hasEarlier ? ", for="u8 : "for="u8);
        bool isIPv6 = peer?.AddressFamily == AddressFamily.InterNetworkV6;
        lines.Write(isIPv6 ? "\"["u8 : default);
        if (peer is null)
        {
            lines.Write("unknown"u8);
        }
        else
        {
            WriteAddress(lines);
        }

        lines.Write(isIPv6 ? "]\""u8 : default);
        lines.Write(";proto="u8);
        lines.Write(Scheme);
        if (!host.IsEmpty)
        {
            // Colons and brackets need quotes (RFC 7239, section 4); a valid authority has no byte that needs an escape.
            lines.Write(";host=\""u8);
            lines.Write(host);
            lines.Write("\""u8);
        }

        lines.Write("\r\n"u8);
    }

    private static void WriteEarlier(LineBuffer lines, bool hasEarlier, FieldName name, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (hasEarlier)
        {
            // The lines of a field are shorter than the head with its separators.
            lines.Advance(head.Join(name, bytes, lines.Room(bytes.Length)));
        }
    }

    private void WriteAddress(LineBuffer lines)
    {
        bool isWritten = peer!.TryFormat(lines.Room(AddressBytesMax), out int count);
        lines.Advance(isWritten ? count : 0);
    }
}
