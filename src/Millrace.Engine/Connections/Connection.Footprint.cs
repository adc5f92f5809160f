using System.Diagnostics;
using Millrace.Engine.Connections;

namespace Millrace.Engine;

/// <content>What a completion of it will touch, asked for ahead.</content>
public sealed partial class Connection
{
    private const int OwnBytes = 672;
    private const int SignalBytes = 56;

    private Footprint _footprint;

    /// <summary>An object of the handler's that is touched on each such occasion. It is held until the slot is free.</summary>
    internal void AddToFootprint(object part, Extent extent, Occasion occasion)
    {
        Debug.Assert(_footprint.Count < Footprint.PartsMax);
        _footprint.Add(part, extent, occasion);
    }

    internal void Foresee() => Footprint.Foresee(this, new Extent(OwnBytes));

    /// <summary>Reads this object, which was foreseen.</summary>
    internal void ForeseeParts(Occasion occasion) => _footprint.Foresee(occasion);

    private void OpenFootprint() => _footprint.Add(_read, new Extent(SignalBytes), Occasion.Received);
}
