using System.Runtime.CompilerServices;
using System.Text;

namespace Millrace.Http;

/// <summary>
/// The pseudo-fields of one request (RFC 9113 section 8.3.1), each at most once and in any order, kept until they can be judged
/// together. The memory is as large as a head may be.
/// </summary>
internal struct PseudoFields(byte[] memory)
{
    // By PseudoField. A value may be empty, so what has come is noted apart.
    private Ranges _values;
    private int _used;
    private uint _present;

    public UriScheme Scheme { get; private set; }

    public readonly bool Has(PseudoField field) => (_present & (1U << (int)field)) != 0;

    public readonly ReadOnlySpan<byte> Of(PseudoField field) => Has(field) ? _values[(int)field].In(memory) : default;

    public void Reset()
    {
        _used = 0;
        _present = 0;
        Scheme = UriScheme.Unknown;
    }

    /// <summary>Takes a field whose name starts with a colon.</summary>
    public FieldsRefusal Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        PseudoField field = Recognize(name, staticIndex);
        if (field == PseudoField.Unknown)
        {
            return FieldsRefusal.UnknownPseudoField;
        }

        if (Has(field))
        {
            return FieldsRefusal.RepeatedPseudoField;
        }

        if (value.Length > memory.Length - _used)
        {
            return field == PseudoField.Path ? FieldsRefusal.PathTooLong : FieldsRefusal.HeadTooLarge;
        }

        value.CopyTo(memory.AsSpan(_used));
        _values[(int)field] = new TextRange(_used, value.Length);
        _used += value.Length;
        _present |= 1U << (int)field;
        return FieldsRefusal.None;
    }

    /// <summary>
    /// Judges what has come, once no more can: what must be there is, and each value is one, but for those of method and path,
    /// which are judged where the request line is read.
    /// </summary>
    public FieldsRefusal Conclude()
    {
        if (!Has(PseudoField.Method))
        {
            return FieldsRefusal.MissingPseudoField;
        }

        // Section 8.5: CONNECT names a host and a port, and nothing there.
        bool isConnect = Of(PseudoField.Method).SequenceEqual("CONNECT"u8);
        if (isConnect && (Has(PseudoField.Scheme) || Has(PseudoField.Path)))
        {
            return FieldsRefusal.ForbiddenPseudoField;
        }

        if (isConnect ? !Has(PseudoField.Authority) : !Has(PseudoField.Scheme) || !Has(PseudoField.Path))
        {
            return FieldsRefusal.MissingPseudoField;
        }

        if (Has(PseudoField.Authority) && !UriHost.IsValidAuthority(Of(PseudoField.Authority)))
        {
            return FieldsRefusal.BadAuthority;
        }

        return isConnect ? FieldsRefusal.None : ReadScheme();
    }

    /// <summary>Whether a Host field names what :authority does, for which a port that the scheme implies may be left out.</summary>
    public readonly bool IsAuthority(ReadOnlySpan<byte> host)
        => Ascii.EqualsIgnoreCase(WithoutDefaultPort(host), WithoutDefaultPort(Of(PseudoField.Authority)));

    private FieldsRefusal ReadScheme()
    {
        ReadOnlySpan<byte> text = Of(PseudoField.Scheme);
        if (text.IsEmpty || !char.IsAsciiLetter((char)text[0]) || text.ContainsAnyExcept(ByteClasses.Scheme))
        {
            return FieldsRefusal.BadScheme;
        }

        Scheme = Words.EqualsIgnoreCase(text, "https"u8) ? UriScheme.Https
            : Words.EqualsIgnoreCase(text, "http"u8) ? UriScheme.Http
            : UriScheme.Unknown;
        return Scheme == UriScheme.Unknown ? FieldsRefusal.UnknownScheme : FieldsRefusal.None;
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

    private static PseudoField Recognize(ReadOnlySpan<byte> name, int staticIndex)
    {
        int index = staticIndex != 0 ? staticIndex : StaticTable.Find(name);
        return index is (int)PseudoField.Authority or (int)PseudoField.Method or (int)PseudoField.Path or (int)PseudoField.Scheme
            ? (PseudoField)index
            : PseudoField.Unknown;
    }

    [InlineArray((int)PseudoField.Scheme + 1)]
    private struct Ranges
    {
        private TextRange _first;
    }
}
