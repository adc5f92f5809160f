namespace Millrace.House.Tests.PublicApi;

/// <summary>A public type with one member of every kind, for the test that shows how a surface is written down.</summary>
public abstract class SurfaceSample<T>(string? name = "a") : MarshalByRefObject, IProgress<T>
    where T : class, new()
{
    public const int Limit = 8;

    private readonly string? _name = name;

    public event EventHandler<EventArgs>? Closed;

    public enum Kind : byte
    {
        First,
    }

    public int Count { get; protected set; }

    public required Dictionary<string, string?> Names { get; init; }

    internal int Hidden => Count;

    public int Sum(params int[] numbers) => numbers.Sum() + Count;

    public void Report(T value) => Count++;

    public abstract ValueTask<string?> ReadAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellation = default);

    public override string? ToString() => _name;

    protected virtual void Close(ref int left, out T? last)
    {
        left = 0;
        last = null;
        Closed?.Invoke(this, EventArgs.Empty);
    }
}
