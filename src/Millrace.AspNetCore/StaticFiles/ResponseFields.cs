using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Sets the response head of a plan, from values prepared per asset and per set of fields.</summary>
internal static class ResponseFields
{
    public static readonly StringValues VaryByCoding = "Accept-Encoding";

    private static readonly StringValues Bytes = "bytes";
    private static readonly StringValues NoStore = "no-store";

    /// <param name="context">The request.</param>
    /// <param name="plan">The plan.</param>
    /// <param name="scratch">Holds the plan's own fields.</param>
    /// <param name="state">Whether the file still matches the plan.</param>
    /// <param name="bytes">The length of the body.</param>
    /// <param name="contentType">The body's type if it is not the asset's or the plan's.</param>
    public static void Set(
        HttpContext context,
        scoped in ResponsePlan plan,
        PlanScratch scratch,
        AssetState state,
        long bytes,
        StringValues contentType = default)
    {
        HttpResponse response = context.Response;
        IHeaderDictionary headers = response.Headers;
        RuleFields rules = RuleFields.Of(plan.Fields);
        bool hasChanged = state == AssetState.Changed;
        response.StatusCode = hasChanged && plan.Status < 400 ? PlanStatus.Ok : plan.Status;
        if (plan.Document is not null)
        {
            headers.ETag = Encoding.Latin1.GetString(plan.Document.EntityTag);
        }

        if (plan.Asset is not null)
        {
            SetAsset(headers, plan, hasChanged);
        }

        if (plan.Body != PlanBody.None)
        {
            headers.ContentType = contentType.Count > 0 ? contentType : TypeOf(plan, rules);
            headers.ContentLength = bytes;
        }

        rules.Set(context);
        foreach (PlanField field in scratch.Fields)
        {
            // A range that became the whole file has no Content-Range; an error page may change.
            if (field.Name != PlanFieldName.ContentRange || !hasChanged || plan.Status >= 400)
            {
                SetPlanned(context, headers, field.Name, Encoding.Latin1.GetString(scratch.ValueOf(field)));
            }
        }
    }

    /// <summary>Adds to Vary, which earlier middleware may have set too.</summary>
    public static void AddVary(IHeaderDictionary headers, StringValues names) =>
        headers.Vary = headers.Vary.Count == 0 ? names : StringValues.Concat(headers.Vary, names);

    /// <summary>
    /// Removes the validators of the catalogued file: another version is sent, perhaps a mix of two, which must not be stored.
    /// </summary>
    public static void RemoveValidators(IHeaderDictionary headers)
    {
        ClearValidators(headers);
        ForbidStoring(headers);
    }

    /// <summary>Removes all fields that describe a body, and forbids storing the response that replaces it.</summary>
    public static void ClearBodyAndForbidStoring(IHeaderDictionary headers)
    {
        ClearBody(headers);
        ForbidStoring(headers);
    }

    /// <summary>Removes all fields that describe a body.</summary>
    public static void ClearBody(IHeaderDictionary headers)
    {
        ClearValidators(headers);
        headers.ContentEncoding = default;
        headers.ContentRange = default;
        headers.ContentType = default;
        headers.ContentLength = null;
    }

    /// <summary>Covers caches that read only their own field, such as CDN-Cache-Control.</summary>
    private static void ForbidStoring(IHeaderDictionary headers)
    {
        foreach (string name in headers.Keys.Where(CachingFields.Contain).ToArray())
        {
            headers.Remove(name);
        }

        headers.CacheControl = NoStore;
    }

    private static void ClearValidators(IHeaderDictionary headers)
    {
        headers.ETag = default;
        headers.LastModified = default;
        headers.AcceptRanges = default;
    }

    private static void SetAsset(IHeaderDictionary headers, scoped in ResponsePlan plan, bool hasChanged)
    {
        AssetFields fields = AssetFields.Of(plan.Asset!);
        bool isAboutAsset = plan.IsAboutAsset && !hasChanged;
        if (isAboutAsset)
        {
            fields.SetValidators(headers);
        }

        fields.SetVary(headers);
        if (plan.Body == PlanBody.None)
        {
            return;
        }

        if (isAboutAsset)
        {
            headers.AcceptRanges = Bytes;
        }

        fields.SetContentEncoding(headers);
    }

    private static StringValues TypeOf(scoped in ResponsePlan plan, RuleFields rules) =>
        rules.ContentType.Count > 0 && plan.Body != PlanBody.StatusText ? rules.ContentType
        : plan.Asset is not null ? AssetFields.Of(plan.Asset).ContentType
        : plan.Document is not null ? Encoding.Latin1.GetString(plan.Document.ContentType)
        : ErrorResponse.ContentType;

    private static void SetPlanned(HttpContext context, IHeaderDictionary headers, PlanFieldName name, string value)
    {
        switch (name)
        {
            case PlanFieldName.Vary:
                AddVary(headers, value);
                break;
            case PlanFieldName.Location:
                // A rule's path is relative to the site, which begins after the base.
                bool isOfSite = value is ['/', ..] and not ['/', '/', ..];
                headers.Location = isOfSite ? context.Request.PathBase.ToUriComponent() + value : value;
                break;
            default:
                headers[Encoding.ASCII.GetString(name.Text())] = value;
                break;
        }
    }
}
