namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>Tests over the kernel's sockets count the process's descriptors: they run when no other does, one after the other.</summary>
[CollectionDefinition(nameof(RealSockets), DisableParallelization = true)]
public class RealSockets;
