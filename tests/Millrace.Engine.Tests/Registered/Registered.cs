using Millrace.Engine.Tests.Connecting;
using Millrace.Engine.Tests.Connections;
using Millrace.Engine.Tests.Kit;
using Millrace.Engine.Tests.Stages;

namespace Millrace.Engine.Tests.Registered;

[Trait("Backend", "io_uring")]
public class RegisteredEchoTests : EchoTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredOutputTests : OutputTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredEndingTests : EndingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredFileReadTests : FileReadTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredChaosTests : ChaosTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredStageTests : StageTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredStoppingTests : StoppingTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredReactorGroupTests : ReactorGroupTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredConnectTests : ConnectTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

[Trait("Backend", "io_uring")]
public class RegisteredScarcityTests : ScarcityTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}

#if !DEBUG
[Trait("Backend", "io_uring")]
public class RegisteredAllocationTests : AllocationTests
{
    internal override EngineOptions Shaped(EngineOptions options) => options.Registered();
}
#endif
