using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Rules;

namespace Millrace.Web.Http1;

/// <summary>
/// The lines of a <see cref="FieldSet"/> as HTTP/1.1 has them; its Content-Type apart, as that stands in for the asset's own.
/// </summary>
internal sealed class FieldLines
{
    private readonly byte[] _lines;
    private readonly byte[] _contentType;

    private FieldLines(FieldSet fields)
    {
        _lines = Encode(fields, isContentType: false);
        _contentType = Encode(fields, isContentType: true);
    }

    public ReadOnlySpan<byte> Lines => _lines;

    /// <summary>The line of a Content-Type that a rule sets; empty for none.</summary>
    public ReadOnlySpan<byte> ContentType => _contentType;

    /// <summary>The value in that line.</summary>
    public ReadOnlySpan<byte> ContentTypeValue =>
        _contentType.Length == 0 ? default : _contentType.AsSpan("Content-Type: ".Length..^2);

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

    private static byte[] Encode(FieldSet fields, bool isContentType)
    {
        var text = new StringBuilder();
        foreach ((string name, string value) in fields.Fields)
        {
            if (name.Equals("Content-Type", StringComparison.OrdinalIgnoreCase) == isContentType)
            {
                text.Append(isContentType ? "Content-Type" : name).Append(": ").Append(value).Append("\r\n");
            }
        }

        return Encoding.Latin1.GetBytes(text.ToString());
    }
}
