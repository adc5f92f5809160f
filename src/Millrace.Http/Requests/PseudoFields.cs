using System.Runtime.CompilerServices;
using System.Text;

namespace Millrace.Http;

/// <summary>
/// The pseudo-fields of one request (RFC 9113 section 8.3.1, RFC 9114 section 4.3.1), each at most once and in any order, stored until they
/// can be checked together. The memory is as large as the maximum head.
/// </summary>
internal struct PseudoFields(byte[] memory)
{
    // By PseudoField. A value may be empty, so presence is stored separately.
    private Ranges _values;
    private int _used;
    private uint _present;
    private bool _allowsProtocol;
    private bool _needsAuthorityText;

    public UriScheme Scheme { get; private set; }

    public readonly bool Has(PseudoField field) => (_present & (1U << (int)field)) != 0;

    public readonly ReadOnlySpan<byte> Of(PseudoField field) => Has(field) ? _values[(int)field].In(memory) : default;

    /// <param name="allowsProtocol">Whether the SETTINGS allow the client to use :protocol (RFC 8441).</param>
    /// <param name="needsAuthorityText">Whether an authority must not be empty, RFC 9114 section 4.3.1.</param>
    public void Reset(bool allowsProtocol, bool needsAuthorityText)
    {
        _allowsProtocol = allowsProtocol;
        _needsAuthorityText = needsAuthorityText;
        _used = 0;
        _present = 0;
        Scheme = UriScheme.Unknown;
    }

    /// <summary>Takes a field whose name starts with a colon.</summary>
    public HeadRefusal Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        PseudoField field = Recognize(name, staticIndex);
        if (field == PseudoField.Unknown)
        {
            return HeadRefusal.UnknownPseudoField;
        }

        if (Has(field))
        {
            return HeadRefusal.RepeatedPseudoField;
        }

        if (value.Length > memory.Length - _used)
        {
            return field == PseudoField.Path ? HeadRefusal.RequestLineTooLong : HeadRefusal.HeadTooLarge;
        }

        value.CopyTo(memory.AsSpan(_used));
        _values[(int)field] = new TextRange(_used, value.Length);
        _used += value.Length;
        _present |= 1U << (int)field;
        return HeadRefusal.None;
    }

    /// <summary>
    /// Checks the pseudo-fields after the last one: all required ones are present, and each value is valid, except those of method and
    /// path, which are checked when the request line is parsed.
    /// </summary>
    public HeadRefusal Conclude()
    {
        if (!Has(PseudoField.Method))
        {
            return HeadRefusal.MissingPseudoField;
        }

        // Section 8.5: CONNECT has a host and a port, but no path. With a protocol it has all three (RFC 8441 section 4).
        bool isConnect = Of(PseudoField.Method).SequenceEqual("CONNECT"u8);
        if (Has(PseudoField.Protocol))
        {
            if (!isConnect || Of(PseudoField.Protocol).IsEmpty || Of(PseudoField.Protocol).ContainsAnyExcept(ByteClasses.Token))
            {
                return HeadRefusal.ForbiddenPseudoField;
            }

            isConnect = false;
        }

        if (isConnect && (Has(PseudoField.Scheme) || Has(PseudoField.Path)))
        {
            return HeadRefusal.ForbiddenPseudoField;
        }

        if (isConnect ? !Has(PseudoField.Authority) : !Has(PseudoField.Scheme) || !Has(PseudoField.Path))
        {
            return HeadRefusal.MissingPseudoField;
        }

        // An empty one corresponds to an empty Host in HTTP/1.1: the client does not know the host's name. HTTP/3 forbids it.
        if (Has(PseudoField.Authority) && !IsValidAuthority(Of(PseudoField.Authority)))
        {
            return HeadRefusal.BadAuthority;
        }

        return isConnect ? HeadRefusal.None : ReadScheme();
    }

    /// <summary>Whether Host and :authority name the same host; a port that the scheme implies may be omitted.</summary>
    public readonly bool IsAuthority(ReadOnlySpan<byte> host)
        => Ascii.EqualsIgnoreCase(WithoutDefaultPort(host), WithoutDefaultPort(Of(PseudoField.Authority)));

    private readonly bool IsValidAuthority(ReadOnlySpan<byte> authority)
        => UriHost.IsValidHostField(authority) && !(_needsAuthorityText && authority.IsEmpty);

    private HeadRefusal ReadScheme()
    {
        ReadOnlySpan<byte> text = Of(PseudoField.Scheme);
        if (text.IsEmpty || !char.IsAsciiLetter((char)text[0]) || text.ContainsAnyExcept(ByteClasses.Scheme))
        {
            return HeadRefusal.BadScheme;
        }

        Scheme = UriSchemes.Of(text);
        return Scheme == UriScheme.Unknown ? HeadRefusal.UnknownScheme : HeadRefusal.None;
    }

    private readonly ReadOnlySpan<byte> WithoutDefaultPort(ReadOnlySpan<byte> host)
    {
        ReadOnlySpan<byte> port = Scheme switch
        {
            UriScheme.Https => ":443"u8,
            UriScheme.Http => ":80"u8,
            _ => default,
        };
        return host.EndsWith(port) ? host[..^port.Length] : host;
    }

    private readonly PseudoField Recognize(ReadOnlySpan<byte> name, int staticIndex)
    {
        if (name.SequenceEqual(":protocol"u8))
        {
            return _allowsProtocol ? PseudoField.Protocol : PseudoField.Unknown;
        }

        int index = staticIndex != 0 ? staticIndex : StaticTable.Find(name);
        return index is (int)PseudoField.Authority or (int)PseudoField.Method or (int)PseudoField.Path or (int)PseudoField.Scheme
            ? (PseudoField)index
            : PseudoField.Unknown;
    }

    [InlineArray((int)PseudoField.Protocol + 1)]
    private struct Ranges
    {
        private TextRange _first;
    }
}

/// <summary>
/// The pseudo-fields that a request may have, RFC 9113 section 8.3.1, by the first index of their names in the static table.
/// </summary>
internal enum PseudoField : byte
{
    Unknown = 0,
    Authority = 1,
    Method = 2,
    Path = 4,
    Scheme = 6,

    /// <summary>The protocol of a tunnel (RFC 8441 section 4), which the table does not have.</summary>
    Protocol = 7,
}
