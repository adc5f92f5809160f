namespace Millrace.Http;

/// <summary>What the bytes seen so far make of a head: complete, in need of more bytes, or refused for good.</summary>
internal readonly record struct HeadResult
{
    private HeadResult(int consumed, HeadRefusal refusal)
    {
        Consumed = consumed;
        Refusal = refusal;
    }

    /// <summary>The length of a complete head with the empty lines before it; the body or the next request starts there.</summary>
    public int Consumed { get; }

    public HeadRefusal Refusal { get; }

    public bool IsComplete => Consumed > 0;

    public bool IsRefused => Refusal != HeadRefusal.None;

    public bool IsIncomplete => !IsComplete && !IsRefused;

    public static HeadResult Incomplete => default;

    public static HeadResult Complete(int consumed) => new(consumed, HeadRefusal.None);

    public static HeadResult Refused(HeadRefusal refusal) => new(0, refusal);
}
