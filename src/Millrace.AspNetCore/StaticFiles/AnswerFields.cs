using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>Sets the head that a plan asks for, out of values that are prepared per asset and per set of fields.</summary>
internal static class AnswerFields
{
    public static readonly StringValues VaryByCoding = "Accept-Encoding";

    private static readonly StringValues Bytes = "bytes";
    private static readonly StringValues NoStore = "no-store";

    /// <param name="context">Whose answer.</param>
    /// <param name="plan">What is answered.</param>
    /// <param name="scratch">Where the plan's own fields are.</param>
    /// <param name="state">Whether the asset is sent as the plan knows it.</param>
    /// <param name="bytes">The length of the body.</param>
    /// <param name="contentType">Its type where that is not the asset's own or the plan's.</param>
    public static void Set(
        HttpContext context, scoped in Plan plan, PlanScratch scratch, AssetState state, long bytes, StringValues contentType = default)
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
            // A part that is answered with the whole file has no range any more. An error's page may change as it likes.
            if (field.Name != PlanFieldName.ContentRange || !hasChanged || plan.Status >= 400)
            {
                SetOwn(context, headers, field.Name, Encoding.Latin1.GetString(scratch.ValueOf(field)));
            }
        }
    }

    /// <summary>Adds to what an answer varies by: middlewares before this one may have said something too.</summary>
    public static void AddVary(IHeaderDictionary headers, StringValues names) =>
        headers.Vary = headers.Vary.Count == 0 ? names : StringValues.Concat(headers.Vary, names);

    /// <summary>
    /// Takes back what speaks of the file as it was catalogued: what is sent in its place is another version, perhaps half of two, and
    /// not to be stored.
    /// </summary>
    public static void Unvalidate(IHeaderDictionary headers)
    {
        WithdrawValidators(headers);
        ForbidStoring(headers);
    }

    /// <summary>Takes back all that describes a body, and keeps what comes in its place out of caches.</summary>
    public static void Withdraw(IHeaderDictionary headers)
    {
        WithdrawBody(headers);
        ForbidStoring(headers);
    }

    /// <summary>Takes back all that describes a body.</summary>
    public static void WithdrawBody(IHeaderDictionary headers)
    {
        WithdrawValidators(headers);
        headers.ContentEncoding = default;
        headers.ContentRange = default;
        headers.ContentType = default;
        headers.ContentLength = null;
    }

    /// <summary>Also by caches that heed a field of their own alone.</summary>
    private static void ForbidStoring(IHeaderDictionary headers)
    {
        foreach (string name in headers.Keys.Where(StoringFields.Contain).ToArray())
        {
            headers.Remove(name);
        }

        headers.CacheControl = NoStore;
    }

    private static void WithdrawValidators(IHeaderDictionary headers)
    {
        headers.ETag = default;
        headers.LastModified = default;
        headers.AcceptRanges = default;
    }

    private static void SetAsset(IHeaderDictionary headers, scoped in Plan plan, bool hasChanged)
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

    private static StringValues TypeOf(scoped in Plan plan, RuleFields rules) =>
        rules.ContentType.Count > 0 && plan.Body != PlanBody.StatusText ? rules.ContentType
        : plan.Asset is not null ? AssetFields.Of(plan.Asset).ContentType
        : plan.Document is not null ? Encoding.Latin1.GetString(plan.Document.ContentType)
        : PlainAnswer.ContentType;

    private static void SetOwn(HttpContext context, IHeaderDictionary headers, PlanFieldName name, string value)
    {
        switch (name)
        {
            case PlanFieldName.Vary:
                AddVary(headers, value);
                break;
            case PlanFieldName.Location:
                // A rule's path is one of the site, which begins where the base ends.
                bool isOfSite = value is ['/', ..] and not ['/', '/', ..];
                headers.Location = isOfSite ? context.Request.PathBase.ToUriComponent() + value : value;
                break;
            default:
                headers[Encoding.ASCII.GetString(name.Text())] = value;
                break;
        }
    }
}
