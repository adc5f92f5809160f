using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// The fields of a <see cref="FieldSet"/> as ASP.NET Core takes them, lines of one name together; its Content-Type apart, as that stands in
/// for the asset's own. Made on first use and kept with the set.
/// </summary>
internal sealed class RuleFields
{
    private readonly (string Name, StringValues Values)[] _fields;

    private RuleFields(FieldSet set)
    {
        _fields =
        [
            .. set.Fields.ToArray()
                .Where(field => field != set.ContentType && field != set.CacheControl)
                .GroupBy(static field => field.Name, StringComparer.OrdinalIgnoreCase)
                .Select(static lines => (lines.Key, new StringValues([.. lines.Select(static line => line.Value)]))),
        ];
        CacheControl = set.CacheControl?.Value;
        ContentType = set.ContentType?.Value;
    }

    /// <summary>The Content-Type that a rule sets; none otherwise.</summary>
    public StringValues ContentType { get; }

    private StringValues CacheControl { get; }

    /// <summary>Any thread may ask: two that race make two equal values and one is dropped.</summary>
    public static RuleFields Of(FieldSet set)
    {
        if (set.HostedFields is RuleFields made)
        {
            return made;
        }

        var fields = new RuleFields(set);
        set.HostedFields = fields;
        return fields;
    }

    /// <summary>Sets them in place of what was set before; but cookies add up, and so does what an answer varies by.</summary>
    public void Set(IHeaderDictionary headers)
    {
        headers.CacheControl = CacheControl;
        foreach ((string name, StringValues values) in _fields)
        {
            if (name.Equals("Vary", StringComparison.OrdinalIgnoreCase))
            {
                AnswerFields.AddVary(headers, values);
            }
            else if (name.Equals("Set-Cookie", StringComparison.OrdinalIgnoreCase))
            {
                headers.SetCookie = StringValues.Concat(headers.SetCookie, values);
            }
            else
            {
                headers[name] = values;
            }
        }
    }
}
