using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// What <see cref="RequestFields"/> makes of fields, in the words of <see cref="ReferenceFields"/>. What it gives for a request is
/// also held against what the parser of HTTP/1.1 reads from the bytes: the two must tell the same of it.
/// </summary>
internal static class FieldsDescription
{
    public static string Of(RequestFields fields, IEnumerable<(string Name, string Value)> list, HeadLimits limits, bool isHttp3 = false)
    {
        fields.Begin(isHttp3: isHttp3);
        foreach ((string name, string value) in list)
        {
            byte[] nameBytes = Latin1.Bytes(name);
            fields.OnField(nameBytes, Latin1.Bytes(value), (value.Length & 1) * StaticTable.Find(nameBytes));
        }

        HeadRefusal refusal = fields.Conclude();
        if (refusal != HeadRefusal.None)
        {
            return $"refused {refusal}";
        }

        var parsed = new RequestHead(limits.FieldsMax);
        string written = HeadDescription.Of(HeadResult.Complete(fields.Bytes.Length), fields.Head, fields.Bytes);
        string read = HeadDescription.Of(RequestHeadParser.Parse(fields.Bytes, parsed, limits), parsed, fields.Bytes);
        return written == read ? Latin1.Text(fields.Bytes) : $"written:\n{written}\nread:\n{read}";
    }
}
