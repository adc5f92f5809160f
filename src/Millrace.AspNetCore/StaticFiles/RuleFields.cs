using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// The fields of a <see cref="FieldSet"/> as ASP.NET Core takes them, lines of one name together; its Content-Type apart, as that stands in
/// for the asset's own. Made on first use and kept with the set.
/// </summary>
internal sealed class RuleFields
{
    private static readonly StringValues Private = CachePolicy.PrivatelyImmutable.Value;

    private readonly (string Name, StringValues Values)[] _fields;
    private readonly StringValues _cacheControl;
    private readonly bool _isDefault;
    private readonly bool _isPublic;

    private RuleFields(FieldSet set)
    {
        _fields =
        [
            .. set.Fields.ToArray()
                .Where(field => field != set.ContentType && field != set.CacheControl)
                .GroupBy(static field => field.Name, StringComparer.OrdinalIgnoreCase)
                .Select(static lines => (lines.Key, new StringValues([.. lines.Select(static line => line.Value)]))),
        ];
        _cacheControl = set.CacheControl?.Value;
        _isDefault = set.CacheControl is Field field && CachePolicy.IsDefault(field);
        _isPublic = set.CacheControl == CachePolicy.Immutable;
        ContentType = set.ContentType?.Value;
    }

    /// <summary>The Content-Type that a rule sets; none otherwise.</summary>
    public StringValues ContentType { get; }

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
    public void Set(HttpContext context)
    {
        IHeaderDictionary headers = context.Response.Headers;
        SetCacheControl(context, headers);
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

    /// <summary>
    /// A default is for answers that nobody has spoken of, and the application may have. It is public only where all are: what an
    /// application signs its users in for is no shared cache's (RFC 9111, sections 3.5 and 5.2.2.9). A rule holds as it stands.
    /// </summary>
    private void SetCacheControl(HttpContext context, IHeaderDictionary headers)
    {
        if (_cacheControl.Count > 0 && (!_isDefault || headers.CacheControl.Count == 0))
        {
            headers.CacheControl = _isPublic && IsPersonal(context) ? Private : _cacheControl;
        }
    }

    /// <summary>By the feature, as <see cref="HttpContext.User"/> makes a user where there is none.</summary>
    private static bool IsPersonal(HttpContext context) =>
        context.Request.Headers.Authorization.Count > 0
        || context.Features.Get<IHttpAuthenticationFeature>()?.User?.Identity?.IsAuthenticated == true;
}
