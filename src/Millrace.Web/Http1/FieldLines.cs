using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.Web.Http1;

/// <summary>
/// The lines of a <see cref="FieldSet"/> as HTTP/1.1 has them; its Content-Type apart, as that stands in for the asset's own.
/// </summary>
internal sealed class FieldLines
{
    private const string Prefix = "Content-Type: ";

    private readonly byte[] _lines;
    private readonly byte[] _contentType;

    private FieldLines(FieldSet fields)
    {
        var text = new StringBuilder();
        foreach (Field field in fields.Fields)
        {
            if (field != fields.ContentType)
            {
                text.Append(field.Name).Append(": ").Append(field.Value).Append("\r\n");
            }
        }

        _lines = Encoding.ASCII.GetBytes(text.ToString());
        _contentType = fields.ContentType is Field type ? Encoding.ASCII.GetBytes($"{Prefix}{type.Value}\r\n") : [];
    }

    public ReadOnlySpan<byte> Lines => _lines;

    /// <summary>The line of a Content-Type that a rule sets; empty for none.</summary>
    public ReadOnlySpan<byte> ContentType => _contentType;

    /// <summary>The value in that line.</summary>
    public ReadOnlySpan<byte> ContentTypeValue =>
        _contentType.Length == 0 ? default : _contentType.AsSpan(Prefix.Length..^2);

    /// <summary>Any thread may ask: two that race make two equal values and one is dropped.</summary>
    public static FieldLines Of(FieldSet fields)
    {
        if (fields.Http1Lines is FieldLines made)
        {
            return made;
        }

        var lines = new FieldLines(fields);
        fields.Http1Lines = lines;
        return lines;
    }
}
