namespace Millrace.AspNetCore.Transport;

/// <summary>
/// Holds the <c>ConfigureMillrace</c> callbacks of a <c>ListenOptions</c> until its endpoint is bound. Kestrel builds an endpoint's
/// connection middleware just before it has the transport bind it, in one async flow that ends with the binding, so that endpoints cannot
/// be confused. Any thread.
/// </summary>
internal sealed class ListenConfigurations
{
    private readonly AsyncLocal<Action<MillraceEndPointOptions>?> _built = new();

    /// <summary>
    /// Called when the endpoint's middleware is built, from the last registered to the first: the first is to be called first.
    /// </summary>
    public void NoteBuilt(Action<MillraceEndPointOptions> configure) => _built.Value = configure + _built.Value;

    /// <summary>Called in the flow of the binding. Cleared, so that reactors and timers started there do not inherit it.</summary>
    public Action<MillraceEndPointOptions>? Take()
    {
        Action<MillraceEndPointOptions>? built = _built.Value;
        _built.Value = null;
        return built;
    }
}
