using Millrace.Http;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.Web.Exchanges;
using Millrace.Web.Heads;

namespace Millrace.Web.Http2;

/// <summary>
/// What the head of an answer is written from once the first bytes of its file are there: only then it is sure what the head says of them.
/// Kept with its stream, and used again.
/// </summary>
internal sealed class HeldHead
{
    private byte[] _own = [];
    private int _ownBytes;
    private int _status;
    private Asset? _asset;
    private FieldSet _fields = FieldSet.Empty;
    private AssetPart _part;

    public bool IsHeld => _asset is not null;

    public int Status => _status;

    /// <summary>Which bytes of the file are promised.</summary>
    public BodyExtent Extent => _part.Extent;

    /// <summary>Room that is enough for it.</summary>
    public int BytesMax => AnswerHead.BytesMax<FieldBlockWriter>(Plan.Whole(_status, _asset!, _fields), NoScratch) + _ownBytes;

    /// <summary>Instead of the reactor's, whose plan is another's by then.</summary>
    private static PlanScratch NoScratch { get; } = new();

    public void Hold(scoped in Plan plan, PlanScratch scratch, in AssetPart part)
    {
        _status = plan.Status;
        _asset = plan.Asset;
        _fields = plan.Fields;
        _part = part;
        HoldOwn(plan, scratch);
    }

    /// <summary>Writes it as it was planned.</summary>
    public void Write(ref FieldBlockWriter writer)
    {
        AnswerHead.WriteShared(ref writer, Planned(), _part.State, new BodyDescription(_part.Range.Length));
        writer.Lines(_own.AsSpan(0, _ownBytes));
    }

    /// <summary>Writes it for a file that turned out to be another, of whole extent.</summary>
    public void WriteUncertain(ref FieldBlockWriter writer, long bytes)
    {
        AnswerHead.WriteUncertain(ref writer, Plan.Whole(_status, _asset!, _fields), new BodyDescription(bytes));
        writer.Lines(_own.AsSpan(0, _ownBytes));
    }

    /// <summary>Has it noted what is answered. A file that changes has no other status for it: then it is whole.</summary>
    public void Tell(Exchange? exchange) => exchange?.Answer(Planned(), _part.State, includesBody: true);

    public void Release()
    {
        _asset = null;
        _fields = FieldSet.Empty;
        _ownBytes = 0;
    }

    private Plan Planned() =>
        Extent == BodyExtent.Range ? Plan.Partial(_asset!, _fields, default) : Plan.Whole(_status, _asset!, _fields);

    private void HoldOwn(scoped in Plan plan, PlanScratch scratch)
    {
        _ownBytes = 0;
        if (scratch.Fields.IsEmpty)
        {
            return;
        }

        int bytes = AnswerHead.BytesMax<FieldBlockWriter>(plan, scratch);
        if (_own.Length < bytes)
        {
            _own = new byte[bytes];
        }

        var writer = new FieldBlockWriter(_own);
        AnswerHead.WriteOwn(ref writer, plan, scratch, _part.State);
        if (writer.Finish(out _ownBytes) is ResponseHeadResult result and not ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The fields of an answer of our own cannot be written: {result}.");
        }
    }
}
