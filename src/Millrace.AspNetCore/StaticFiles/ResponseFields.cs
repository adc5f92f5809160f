using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.Http;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Sets the response head of a plan, from values prepared per asset and per set of fields.</summary>
internal static class ResponseFields
{
    public static readonly StringValues VaryByCoding = "Accept-Encoding";
    public static readonly StringValues VaryByDictionary = "Accept-Encoding, Available-Dictionary";

    private static readonly StringValues Bytes = "bytes";
    private static readonly StringValues NoStore = "no-store";

    /// <param name="context">The request.</param>
    /// <param name="plan">The plan.</param>
    /// <param name="scratch">Holds the plan's own fields.</param>
    /// <param name="state">Whether the file still matches the plan.</param>
    /// <param name="bytes">The length of the body; null if it is not known.</param>
    /// <param name="contentType">The body's type if it is not the asset's or the plan's.</param>
    public static void Set(
        HttpContext context,
        scoped in ResponsePlan plan,
        PlanScratch scratch,
        AssetState state,
        long? bytes,
        StringValues contentType = default)
    {
        HttpResponse response = context.Response;
        IHeaderDictionary headers = response.Headers;
        RuleFields rules = RuleFields.Of(plan.Fields);
        response.StatusCode = PlannedHead.StatusOf(plan.Status, state);
        if (plan.Document is not null)
        {
            SetDocument(headers, plan);
        }

        if (plan.Asset is not null)
        {
            SetAsset(headers, plan, state);
        }

        if (plan.Body != PlanBody.None)
        {
            headers.ContentType = PlannedHead.TypeOf(plan, isGiven: contentType.Count > 0) switch
            {
                ContentTypeSource.Body => contentType,
                ContentTypeSource.Rule => rules.ContentType,
                ContentTypeSource.Asset => AssetFields.Of(plan.Asset!).ContentType,
                ContentTypeSource.Document => Encoding.Latin1.GetString(plan.Document!.ContentType),
                _ => ErrorResponse.ContentType,
            };
            headers.ContentLength = bytes;
        }

        rules.Set(context);
        foreach (PlanField field in scratch.Fields)
        {
            if (PlannedHead.Has(field.Name, plan.Status, state))
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

    public static void ClearBodyAndForbidStoring(IHeaderDictionary headers)
    {
        ClearBody(headers);
        ForbidStoring(headers);
    }

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

    private static void SetAsset(IHeaderDictionary headers, scoped in ResponsePlan plan, AssetState state)
    {
        AssetFields fields = AssetFields.Of(plan.Asset!);
        if (PlannedHead.HasValidators(plan, state))
        {
            fields.SetValidators(headers);
        }

        fields.SetVary(headers);
        if (PlannedHead.HasAcceptRanges(plan, state))
        {
            headers.AcceptRanges = Bytes;
        }

        if (plan.Body != PlanBody.None)
        {
            headers.ContentEncoding = fields.ContentEncoding;
        }
    }

    private static void SetDocument(IHeaderDictionary headers, scoped in ResponsePlan plan)
    {
        if (!plan.Document!.EntityTag.IsEmpty)
        {
            headers.ETag = Encoding.Latin1.GetString(plan.Document.EntityTag);
        }

        ContentCoding coding = PlannedHead.CodingOf(plan);
        if (coding != ContentCoding.Identity)
        {
            headers.ContentEncoding = Encoding.ASCII.GetString(ContentCodings.NameOf(coding));
        }
    }

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
            case PlanFieldName.Link:
                headers.Link = StringValues.Concat(headers.Link, value);
                break;
            case PlanFieldName.ContentSecurityPolicy:
                headers.ContentSecurityPolicy = StringValues.Concat(headers.ContentSecurityPolicy, value);
                break;
            default:
                headers[Encoding.ASCII.GetString(name.Text())] = value;
                break;
        }
    }
}
