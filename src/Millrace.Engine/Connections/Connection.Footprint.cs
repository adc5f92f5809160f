using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>What a completion of it will touch, asked for ahead.</content>
public sealed partial class Connection
{
    /// <summary>Nearly all of this object.</summary>
    private const int OwnBytes = 768;

    private const int SignalBytes = 128;

    private Footprint _footprint;

    /// <summary>An object of the handler's that is touched whenever the connection gets on. It is held until the slot is free.</summary>
    internal void AddToFootprint(object part, int bytes) => _footprint.Add(part, bytes);

    internal void Foresee() => Footprint.Foresee(this, OwnBytes);

    /// <summary>Reads this object, which was foreseen.</summary>
    internal void ForeseeParts() => _footprint.Foresee();

    private void OpenFootprint() => _footprint.Add(_read, SignalBytes);
}
