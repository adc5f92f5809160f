using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features.Authentication;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// The fields of a <see cref="FieldSet"/> in ASP.NET Core's form, with the lines of one name together; Content-Type is separate, as it
/// replaces the asset's own. Created on first use and cached with the set.
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

    /// <summary>The Content-Type that a rule sets; empty otherwise.</summary>
    public StringValues ContentType { get; }

    /// <summary>Any thread: two racing threads create equal values, and one is dropped.</summary>
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

    /// <summary>Sets the fields, replacing earlier values, except that Set-Cookie and Vary are appended.</summary>
    public void Set(HttpContext context)
    {
        IHeaderDictionary headers = context.Response.Headers;
        SetCacheControl(context, headers);
        foreach ((string name, StringValues values) in _fields)
        {
            if (name.Equals("Vary", StringComparison.OrdinalIgnoreCase))
            {
                ResponseFields.AddVary(headers, values);
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
    /// The default applies only to responses without Cache-Control, which the application may have set. It is public only for anonymous
    /// requests: a shared cache must not store what an application serves to signed-in users (RFC 9111, sections 3.5 and 5.2.2.9). A rule's
    /// value always applies.
    /// </summary>
    private void SetCacheControl(HttpContext context, IHeaderDictionary headers)
    {
        if (_cacheControl.Count > 0 && (!_isDefault || headers.CacheControl.Count == 0))
        {
            headers.CacheControl = _isPublic && IsPersonal(context) ? Private : _cacheControl;
        }
    }

    /// <summary>Reads the feature, as <see cref="HttpContext.User"/> creates a user if there is none.</summary>
    private static bool IsPersonal(HttpContext context) =>
        context.Request.Headers.Authorization.Count > 0
        || context.Features.Get<IHttpAuthenticationFeature>()?.User?.Identity?.IsAuthenticated == true;
}
