using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Heads;

/// <summary>
/// The data for a response head that is written after the first bytes of the file are read: only then is it certain what the head can
/// promise. Belongs to its stream, and is reused with it.
/// </summary>
internal sealed class DeferredHead
{
    private byte[] _own = [];
    private int _ownBytes;
    private int _status;
    private Asset? _asset;
    private FieldSet _fields = FieldSet.Empty;
    private AssetPart _part;

    public bool IsHeld => _asset is not null;

    public int Status => _status;

    public FieldSet Fields => _fields;

    /// <summary>Whether the client prefers a page for an error in place of the head; valid until the next one is held.</summary>
    public bool PrefersHtml { get; private set; }

    /// <summary>The memory of the plan's own fields.</summary>
    public int OwnBytes => _own.Length;

    /// <summary>How often the file was read again because it changed meanwhile.</summary>
    public int Attempts { get; set; }

    /// <summary>Which bytes of the file are promised.</summary>
    public BodyExtent Extent => _part.Extent;

    /// <summary>The room that suffices for the head.</summary>
    public int BytesMax<TWriter>()
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct =>
        PlanHeadWriter.BytesMax<TWriter>(ResponsePlan.Whole(_status, _asset!, _fields), PlanHeadWriter.NoScratch) + _ownBytes;

    /// <summary>Keeps the data, in the coding in which the head is written later.</summary>
    public void Hold<TWriter>(scoped in ResponsePlan plan, PlanScratch scratch, in AssetPart part, bool prefersHtml)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        PrefersHtml = prefersHtml;
        _status = plan.Status;
        _asset = plan.Asset;
        _fields = plan.Fields;
        _part = part;
        HoldOwn<TWriter>(plan, scratch);
    }

    public void Write<TWriter>(ref TWriter writer)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        PlanHeadWriter.WriteShared(ref writer, Planned(), _part.State, new BodyDescription(_part.Range.Length));
        writer.Lines(_own.AsSpan(0, _ownBytes));
    }

    /// <summary>Writes the head for a whole file that turned out to differ.</summary>
    public void WriteUncertain<TWriter>(ref TWriter writer, long bytes)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        PlanHeadWriter.WriteUncertain(ref writer, ResponsePlan.Whole(_status, _asset!, _fields), new BodyDescription(bytes));
        writer.Lines(_own.AsSpan(0, _ownBytes));
    }

    /// <summary>Records the response. The status does not change for a file that changes, as that is always sent whole.</summary>
    public void Report(HttpExchange? exchange) => exchange?.SetResponse(Planned(), _part.State, includesBody: true);

    /// <summary>Promises the whole file, of unknown length, because it turned out to differ when it was opened.</summary>
    public void BecomeWhole() => _part = new AssetPart(AssetState.Changed, BodyExtent.Whole, default);

    /// <summary>Promises the whole original in place of a sibling, whose file is another one now.</summary>
    public void BecomeOriginal()
    {
        _asset = _asset!.Original;
        _ownBytes = 0;
        BecomeWhole();
    }

    public void Release()
    {
        _asset = null;
        _fields = FieldSet.Empty;
        _ownBytes = Attempts = 0;
    }

    private ResponsePlan Planned() =>
        Extent == BodyExtent.Range ? ResponsePlan.Partial(_asset!, _fields, default) : ResponsePlan.Whole(_status, _asset!, _fields);

    private void HoldOwn<TWriter>(scoped in ResponsePlan plan, PlanScratch scratch)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        _ownBytes = 0;
        if (scratch.Fields.IsEmpty)
        {
            return;
        }

        int bytes = PlanHeadWriter.BytesMax<TWriter>(plan, scratch);
        if (_own.Length < bytes)
        {
            _own = new byte[bytes];
        }

        TWriter writer = TWriter.Over(_own);
        PlanHeadWriter.WriteOwn(ref writer, plan, scratch, _part.State);
        _ownBytes = writer.Finish();
    }
}
